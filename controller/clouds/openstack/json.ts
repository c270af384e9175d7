import type { AnswerFields } from '../answer-fields.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

/** The texts of a list; none for null and for a field that is missing. */
export function optionalTexts(fields: AnswerFields, name: string): readonly string[] {
  return fields.json()[name] == null ? [] : fields.texts(name);
}

/** That text of every object of a list, where it is one. */
export function textsIn(fields: AnswerFields, list: string, name: string): string[] {
  return fields.optionalObjects(list).flatMap((one) => one.optionalText(name) ?? []);
}
