import { CloudError, type CloudErrorKind, isCloudError } from '../../../common/cloud-error.ts';
import { childOf, childrenOf, childText, escapeXml, parseXml, type Xml } from '../../../common/xml.ts';

/** A managed object of one vCenter: type `VirtualMachine`, value `vm-42`. */
export interface Ref {
  readonly type: string;
  readonly value: string;
}

/** One object of an answer with the properties that are set and may be read. */
export interface Row {
  readonly ref: Ref;
  readonly values: ReadonlyMap<string, Xml>;
}

/** What a vCenter says instead of an answer: `InvalidLogin`; `ManagedObjectNotFound` with the object in question. */
export interface Fault {
  readonly fault: string;
  readonly ref: Ref | undefined;
}

const kinds: ReadonlyMap<string, CloudErrorKind> = new Map([
  ['InvalidLogin', 'Unauthorized'],
  ['NotAuthenticated', 'Unauthorized'],
  ['NoPermission', 'Forbidden'],
  ['ManagedObjectNotFound', 'NotFound'],
  ...['InvalidArgument', 'InvalidProperty', 'InvalidType', 'NotSupported'].map((name) => [name, 'Invalid'] as const),
]);

export function refOf(element: Xml | undefined): Ref | undefined {
  const type = element?.attributes['type'];
  return type && element?.text ? { type, value: element.text } : undefined;
}

/** One string for each object of one vCenter. */
export function refKey({ type, value }: Ref): string {
  return `${type}:${value}`;
}

/** `<obj type="VirtualMachine">vm-42</obj>` */
export function printRef(name: string, { type, value }: Ref): string {
  return `<${name} type="${escapeXml(type)}">${escapeXml(value)}</${name}>`;
}

export function printText(name: string, text: string): string {
  return `<${name}>${escapeXml(text)}</${name}>`;
}

export function printRequest(method: string, self: Ref, body: string): string {
  const call = `<${method} xmlns="urn:vim25">${printRef('_this', self)}${body}</${method}>`;
  return `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body>${call}</Body></Envelope>`;
}

/** What RetrievePropertiesEx shall read: of the objects themselves, or of what is in them where they are views. */
export function printFilter(type: string, paths: readonly string[], objects: readonly Ref[]): string {
  const xsi = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
  const traversal = '<type>ContainerView</type><path>view</path>';
  const inside = `<skip>true</skip><selectSet ${xsi} xsi:type="TraversalSpec">${traversal}</selectSet>`;
  const sets = objects.map((ref) => {
    const steps = ref.type === 'ContainerView' ? inside : '';
    return `<objectSet>${printRef('obj', ref)}${steps}</objectSet>`;
  });
  const properties = paths.map((path) => printText('pathSet', path)).join('');
  return `<specSet><propSet><type>${type}</type>${properties}</propSet>${sets.join('')}</specSet>`;
}

export function rowsOf(page: Xml | undefined): readonly Row[] {
  return childrenOf(page, 'objects').flatMap((object) => {
    const ref = refOf(childOf(object, 'obj'));
    const values = childrenOf(object, 'propSet').flatMap((property) => {
      const value = childOf(property, 'val');
      return value === undefined ? [] : [[childText(property, 'name') ?? '', value] as const];
    });
    return ref === undefined ? [] : { ref, values: new Map(values) };
  });
}

/**
 * The element `<method>Response` of an answer.
 *
 * @throws CloudError whose cause is the Fault; `Unavailable` for what is no such answer: a cut body, a proxy's page
 */
export function readResponse(text: string, method: string, server: string): Xml {
  const failure = (kind: CloudErrorKind, message: string, cause?: unknown) =>
    new CloudError({ kind, cloud: 'vsphere', operation: method, message: `${server}: ${message}`, cause });
  let body: Xml | undefined;
  try {
    body = childOf(parseXml(text), 'Body');
  } catch (error) {
    throw failure('Unavailable', 'the answer is not XML, or not all of it', error);
  }
  const response = childOf(body, `${method}Response`);
  if (response !== undefined) return response;
  const fault = childOf(body, 'Fault');
  const detail = childOf(fault, 'detail')?.children[0];
  const name = detail?.name.replace(/Fault$/, '') ?? 'no answer of a vCenter';
  const message = `${name}: ${childText(fault, 'faultstring') ?? ''}`.slice(0, 300);
  const cause: Fault = { fault: name, ref: refOf(childOf(detail, 'obj')) };
  throw failure(kinds.get(name) ?? 'Unavailable', message, cause);
}

/** What the vCenter said, of an error that is its answer. */
export function faultOf(error: unknown): Fault | undefined {
  const cause = isCloudError(error) ? (error.cause as Partial<Fault> | undefined) : undefined;
  return typeof cause?.fault === 'string' ? (cause as Fault) : undefined;
}
