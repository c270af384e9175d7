export function leaf(name: string, value: string | undefined): string {
  return value === undefined ? '' : `<${name}>${value}</${name}>`;
}

export function tagSet(tags: Readonly<Record<string, string>>): string {
  const items = Object.entries(tags).map(([key, value]) => `<item>${leaf('key', key)}${leaf('value', value)}</item>`);
  return `<tagSet>${items.join('')}</tagSet>`;
}
