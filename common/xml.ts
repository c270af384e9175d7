import { SaxesParser } from 'saxes';

/** One element, its name without a name space prefix. */
export interface Xml {
  readonly name: string;
  /** As written, prefixes included. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Xml[];
  /** Its own, without that of its children. */
  readonly text: string;
}

/**
 * The root element of a document.
 *
 * @throws Error for a text that is not well-formed, so for a cut one, and for an entity that XML itself does not know
 */
export function parseXml(text: string): Xml {
  type Open = Xml & { children: Xml[]; text: string };
  const document: Open = { name: '', attributes: {}, children: [], text: '' };
  const open: Open[] = [document];
  const parser = new SaxesParser();
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', ({ name, attributes }) => {
    const element: Open = { name: name.slice(name.indexOf(':') + 1), attributes, children: [], text: '' };
    open.at(-1)!.children.push(element);
    open.push(element);
  });
  parser.on('text', (part) => {
    open.at(-1)!.text += part;
  });
  parser.on('closetag', () => {
    open.pop();
  });
  parser.write(text).close();
  return document.children[0]!;
}

export function childOf(parent: Xml | undefined, name: string): Xml | undefined {
  return parent?.children.find((element) => element.name === name);
}

export function childrenOf(parent: Xml | undefined, name: string): readonly Xml[] {
  return parent?.children.filter((element) => element.name === name) ?? [];
}

/** The text of a child; undefined for one that is missing or empty. */
export function childText(parent: Xml | undefined, name: string): string | undefined {
  return childOf(parent, name)?.text.trim() || undefined;
}

/** For texts and for values of attributes in double quotes. */
export function escapeXml(text: string): string {
  return text.replace(/[<>&"]/g, (char) => `&#${char.charCodeAt(0)};`);
}
