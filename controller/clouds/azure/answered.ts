import type { AnswerFields } from '../answer-fields.ts';

/** What is answered, by the vendor's type, which shows beside the name what stands in `properties`. */
export interface Answered<T> {
  text(name: Name<T>): string;
  optionalText(name: Name<T>): string | undefined;
  optionalNumber(name: Name<T>): number | undefined;
  optionalFlag(name: Name<T>): boolean | undefined;
  object<K extends Name<T>>(name: K): Answered<In<T, K>>;
  optionalObject<K extends Name<T>>(name: K): Answered<In<T, K>> | undefined;
  objects<K extends Name<T>>(name: K): Answered<In<T, K>>[];
  optionalObjects<K extends Name<T>>(name: K): Answered<In<T, K>>[];
  texts(name: Name<T>): string[];
  labels: AnswerFields['labels'];
  json(): Readonly<Record<Name<T>, unknown>>;
}

type Name<T> = (keyof T & string) | 'properties';
type In<T, K> = K extends keyof T ? (NonNullable<T[K]> extends readonly (infer E)[] ? E : NonNullable<T[K]>) : T;
