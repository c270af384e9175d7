/**
 * The section of a version of CHANGELOG.md, or what is unreleased where the version has none yet. Throws where there is
 * neither. Pure.
 */
export function releaseNotes(changelog: string, version: string): { readonly title: string; readonly text: string } {
  const sections = changelog.split(/^(?=## )/m);
  const titled = (title: string) => sections.find((section) => section.startsWith(`## [${title}]`));
  for (const title of [version, 'Unreleased']) {
    const text = titled(title);
    if (text !== undefined) return { title, text: `${text.trim()}\n` };
  }
  throw new Error(`CHANGELOG.md has no section [${version}], and none of what is unreleased`);
}
