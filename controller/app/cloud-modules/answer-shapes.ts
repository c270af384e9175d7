import { isIP } from 'node:net';
import type { Change, Found } from '../../engine/resource.ts';

export type Fields = Readonly<Record<string, unknown>>;
/** What was expected of an answer; undefined when it is valid. */
export type Expectation = (answer: unknown) => string | undefined;
type Test = (value: unknown) => boolean;

export const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const isText: Test = (value) => typeof value === 'string' && value !== '';
const isString: Test = (value) => typeof value === 'string';
const isCount: Test = (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0;
const isFlag: Test = (value) => typeof value === 'boolean';
const isFunction: Test = (value) => typeof value === 'function';
const anyOf = (allowed: readonly unknown[]): Test => allowed.includes.bind(allowed);
const orNone =
  (test: Test): Test =>
  (value) =>
    value === undefined || test(value);
const listOf =
  (test: Test): Test =>
  (value) =>
    Array.isArray(value) && value.every(test);
const ofFields = (tests: Readonly<Record<string, Test>>): Test => {
  const entries = Object.entries(tests);
  return (value) => isObject(value) && entries.every(([name, test]) => test(value[name]));
};
const unless =
  (test: Test, expected: string): Expectation =>
  (value) =>
    test(value) ? undefined : expected;

const isOwner = ofFields({ cluster: isText, service: isText });
const isPart = ofFields({
  kind: isText,
  id: isText,
  status: anyOf(['ready', 'pending', 'failed', 'deleting'] satisfies Found['status'][]),
  owner: orNone(isOwner),
  key: orNone(isString),
  within: orNone(isText),
  operation: orNone(isText),
  slots: orNone(listOf(isText)),
  address: orNone(isText),
  refs: orNone(listOf(ofFields({ role: isText, kind: isText, id: isText }))),
});
const isFound: Test = (value) =>
  isPart(value) && !((value as Fields)['owner'] !== undefined && (value as Fields)['key'] === undefined);
const isChange = ofFields({
  what: isText,
  summary: isString,
  phase: anyOf(['grow', 'set', 'shrink'] satisfies Change['phase'][]),
  after: orNone(listOf(isText)),
  makesRoom: orNone(isFlag),
});
const isIngress: Test = (value) =>
  isObject(value) &&
  orNone((ip) => typeof ip === 'string' && isIP(ip) !== 0)(value['ip']) &&
  orNone(isText)(value['hostname']) &&
  (value['ip'] ?? value['hostname']) !== undefined;
const isAnswer = ofFields({
  id: orNone(isText),
  found: orNone(listOf(isFound)),
  operation: orNone(isText),
  refused: orNone(listOf(isText)),
  lasts: orNone(ofFields({ estimateKey: isText, ms: isCount })),
});

export const anything: Expectation = () => undefined;
export const ofObject = unless(isObject, 'an object');
export const ofText = unless(isText, 'a name');
export const ofTexts = unless(listOf(isString), 'a list of texts');
export const ofLabels = unless(orNone(listOf(ofFields({ key: isText }))), 'a list of labels with key');
export const ofMap = unless((value) => value instanceof Map, 'a Map');
export const ofFound = unless(
  listOf(isFound),
  'a list of resources with kind, id and status, and each with an owner with a key',
);
export const ofReading: Expectation = (value) => {
  if (!isObject(value)) return 'an object with found';
  return ofFound(value['found']) ?? unless(orNone(listOf(isText)), 'complete as a list of kinds')(value['complete']);
};
export const ofAnswer = unless(isAnswer, 'an answer');
export const ofShown = unless(
  ofFields({ name: isString, ingress: listOf(isIngress), createdAtMs: orNone(isCount), service: orNone(isString) }),
  'an object with name and ingress, a list of addresses',
);
export const ofMembers = unless(
  listOf(ofFields({ providerID: isText, draining: isFlag, healthy: orNone(isFlag) })),
  'a list of members with providerID and draining',
);
export const ofComparison = unless(
  (value) =>
    isObject(value) &&
    (value['same'] === true ||
      listOf(isChange)(value['changes']) ||
      (isText(value['replace']) && anyOf(['createFirst', 'deleteFirst'])(value['order']))),
  'same, changes with what, summary and phase, or replace and order',
);
export const ofVersion = unless(ofFields({ version: isText, operation: orNone(isText) }), 'an object with version');
export const ofVersions = unless(
  listOf(ofFields({ name: isText, version: isText })),
  'a list of documents with name and version',
);
export const ofVersionOrNone: Expectation = (value) => (value === undefined ? undefined : ofVersion(value));

/** @param kinds that the driver has */
export function ofDesire(kinds: ReadonlySet<unknown>): Expectation {
  const isWant = ofFields({
    kind: (kind) => kinds.has(kind),
    key: isString,
    summary: isString,
    needs: orNone(listOf(isText)),
    within: orNone(isText),
    slot: orNone(isText),
    ports: orNone(Array.isArray),
    use: orNone(ofFields({ id: isText, allowed: isFlag })),
  });
  const isDesire = ofFields({
    wants: listOf(isWant),
    refusals: listOf(ofFields({ reason: isText, message: isString })),
    remarks: orNone(listOf(isString)),
  });
  return unless(isDesire, `an object with wants and refusals, each want of ${[...kinds].join(', ')}`);
}

/** Of the parts that a driver is made of, before anything is asked of it. */
export const parts: Readonly<Record<'kinds' | 'readers' | 'documents' | 'annotations', Expectation>> = {
  kinds: unless(
    listOf(
      ofFields({
        kind: isText,
        retryCreate: anyOf(['atOnce', 'afterSearch']),
        compare: isFunction,
        settleMs: orNone(isCount),
      }),
    ),
    'a list of kinds with kind, again and compare',
  ),
  readers: unless(
    listOf(ofFields({ kinds: listOf(isText), all: isFunction, of: isFunction })),
    'a list of readers with kinds, all and of',
  ),
  documents: unless(
    orNone(
      listOf(ofFields({ document: isText, name: isFunction, all: isFunction, read: isFunction, parse: isFunction })),
    ),
    'a list of types of documents, or none',
  ),
  annotations: unless(
    listOf(ofFields({ key: isText, values: isString, meaning: isString })),
    'a list of annotations with key, values and meaning',
  ),
};
