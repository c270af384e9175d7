import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRequestCounts, type RequestCount } from '../test/kit/kube-api/request-counts.ts';

/** What a real API server was asked, by its audit log. */
export interface AuditLog {
  readonly apiserverArguments: string[];
  /** So far, but for the server's own requests; `userAgent` is the program alone, without its version. */
  requests(): Promise<readonly RequestCount[]>;
  remove(): Promise<void>;
}

interface AuditEvent {
  readonly verb: string;
  readonly userAgent?: string;
  readonly requestURI: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
}

/** One line for each request, watches included, when it arrives. */
const policy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['ResponseStarted', 'ResponseComplete', 'Panic'],
  rules: [{ level: 'None', users: ['system:apiserver'] }, { level: 'Metadata' }],
};

export async function createAuditLog(): Promise<AuditLog> {
  const folder = await mkdtemp(join(tmpdir(), 'mooring-audit-'));
  const [policyFile, log] = [join(folder, 'policy.json'), join(folder, 'audit.log')];
  await writeFile(policyFile, JSON.stringify(policy));
  return {
    apiserverArguments: [`--audit-policy-file=${policyFile}`, `--audit-log-path=${log}`],
    requests: async () => countAudited(await readFile(log, 'utf8')),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** @param log JSON lines, of which the last may not be whole yet */
export function countAudited(log: string): readonly RequestCount[] {
  const counts = createRequestCounts();
  for (const line of log.split('\n').slice(0, -1)) {
    const { verb, userAgent = '', requestURI, objectRef } = JSON.parse(line) as AuditEvent;
    const { resource, subresource } = objectRef ?? {};
    const what = [resource ?? requestURI.split('?', 1)[0], ...(subresource ? [subresource] : [])].join('/');
    counts.add(verb, what, userAgent.split(/[/ ]/, 1)[0]!);
  }
  return counts.list();
}
