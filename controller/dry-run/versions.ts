/**
 * Versions of objects with edits that were never sent. They compare as numbers with each other and with those of the
 * server, because each version of the server gets so many digits for edits behind its own.
 */
const digits = 9;

/** @param edit number of the last edit of the object; 0 = none */
export function shownVersion(version: string, edit: number): string {
  return /^\d+$/.test(version) ? version + String(edit).padStart(digits, '0') : `${version}~${edit}`;
}

/** Whether it is the version of an object with edits. */
export function isEdited(shown: string): boolean {
  return /^\d+$/.test(shown) ? /[1-9]/.test(shown.slice(-digits)) : /~[1-9]\d*$/.test(shown);
}

/** The version as the server knows it. */
export function serverVersion(shown: string): string {
  if (/^\d+$/.test(shown)) return shown.length > digits ? shown.slice(0, -digits) : shown;
  return shown.replace(/~\d+$/, '');
}
