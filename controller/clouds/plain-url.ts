/** For errors. They do not show the value: what is wrong with it may be a password in it. */
export const plainUrlExpected =
  'a wrong value (not shown), expected an http or https URL without user, query and fragment';

/** An http or https URL that can be shown. */
export function isPlainUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
}
