import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { goProgram, kept, limits, type Tool } from '../../clouds/proof-tools.ts';

const packages = [
  '@cyclonedx/cyclonedx-library@10.3.0',
  'ajv@8.20.0',
  'ajv-formats@3.0.1',
  'ajv-formats-draft2019@1.6.1',
];

/** cosign, which is built with go of the module in `cosign/`: some minutes the first time. */
export function findCosign(): Promise<Tool<{ program: string }>> {
  return goProgram(join(import.meta.dirname, '../cosign'), 'cosign', 'tool', { ...limits, timeout: 1_200_000 });
}

/** krew, likewise. */
export function findKrew(): Promise<Tool<{ program: string }>> {
  return goProgram(join(import.meta.dirname, '../krew'), 'krew', 'tool');
}

/** The library of CycloneDX, which holds documents against its schema. */
export function cycloneDx(): Promise<Tool<{ folder: string }>> {
  return kept('cyclonedx-10.3.0', async (folder) => {
    await writeFile(join(folder, 'package.json'), '{"private":true}');
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
    await promisify(execFile)('npm', ['install', '--prefix', folder, ...quiet, ...packages], limits);
  });
}

/** What is wrong with a document by the schema of CycloneDX 1.5; null where nothing is. */
export async function schemaErrors(folder: string, document: string): Promise<unknown> {
  const { Validation, Spec } = createRequire(join(folder, 'package.json'))('@cyclonedx/cyclonedx-library');
  return new Validation.JsonStrictValidator(Spec.Version.v1dot5).validate(document);
}
