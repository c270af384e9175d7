import { systemClock } from '../../common/process/clock.ts';
import type { ApiUnderTest } from '../conformance/api-under-test.ts';
import { startKubeApi } from '../kit/kube-api/start-kube-api.ts';
import { findBinaries } from '../real/binaries.ts';
import { startRealApi } from '../real/start-real-api.ts';

export const apiKinds = ['embedded', 'real'] as const;

/**
 * Starts the API server of a sandbox. The real one is found as the suites find it, and is never built here. It has to
 * know its kubelets at the start: those of the first VMs and of the tour's foreign Node.
 *
 * @throws Error when there is no real server
 */
export async function startApi(
  kind: (typeof apiKinds)[number],
  options: { readonly nodes: number; readonly env: NodeJS.ProcessEnv; say(line: string): void },
): Promise<ApiUnderTest> {
  if (kind === 'embedded') return startKubeApi({ clock: systemClock(), random: Math.random });
  const say = (line: string) => options.say(`${line}\n`);
  const { found: binaries, reason } = { reason: '', ...(await findBinaries(options.env, say, { build: false })) };
  if (binaries === undefined) throw new Error(`no real API server: ${reason}; npm run -s test:real builds one`);
  const nodeNames = Array.from({ length: options.nodes }, (_, index) => `node-${String(index + 1).padStart(4, '0')}`);
  return startRealApi({ binaries, nodeNames: [...nodeNames, 'foreign-1'] });
}
