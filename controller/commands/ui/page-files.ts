/** The files of the page. */
export interface PageFiles {
  readonly html: string;
  readonly script: string;
  readonly style: string;
  readonly icon: string;
}

/**
 * The page, made now from its sources. The build puts the page that it made in the place of this module, so that what
 * ships needs neither the sources nor esbuild.
 */
export async function readPageFiles(): Promise<PageFiles> {
  const { buildPage } = await import('../../../scripts/bundle-page.ts');
  return buildPage();
}
