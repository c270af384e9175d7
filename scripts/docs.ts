import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dashboardFiles } from './dashboards/dashboards.ts';
import { referencePages } from './reference-pages.ts';

/** Where the generated pages lie. */
export const referenceFolder = join(import.meta.dirname, '../docs/reference');
/** Where the chart takes its dashboards from. */
export const dashboardFolder = join(import.meta.dirname, '../deploy/chart/files/dashboards');

if (import.meta.main) {
  await mkdir(referenceFolder, { recursive: true });
  for (const [name, text] of await referencePages()) await writeFile(join(referenceFolder, name), text);
  await mkdir(dashboardFolder, { recursive: true });
  for (const [name, text] of dashboardFiles()) await writeFile(join(dashboardFolder, name), text);
}
