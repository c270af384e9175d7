/** The words of a page for people: without code, comments, addresses and what is written as a name of the API. Pure. */
export function proseOf(text: string): string {
  return text
    .replaceAll(/```[\s\S]*?```/g, ' ')
    .replaceAll(/<!--[\s\S]*?-->/g, ' ')
    .replaceAll(/`[^`]*`/g, ' ')
    .replaceAll(/\]\([^)]*\)/g, '] ')
    .replaceAll(/https?:\S+|<[^>]+>/g, ' ')
    .split(/\s+/)
    .filter((word) => !isName(word))
    .map((word) => word.replace(/'s(\W*)$/, '$1'))
    .join('\n');
}

/** Words with digits, with capitals inside, or of capitals alone. */
function isName(word: string): boolean {
  return /\d|_|[a-z][A-Z]|^\W*[A-Z]{2,}/.test(word);
}
