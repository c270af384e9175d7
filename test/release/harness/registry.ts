import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fetch from 'node-fetch';
import { debianPackages, librariesOf, type Tool } from '../../clouds/proof-tools.ts';
import { freePort } from '../../kit/free-ports.ts';

/** skopeo, a registry, and what they need that a small machine may lack. */
const packages = ['skopeo', 'docker-registry', 'libgpgme11', 'libdevmapper1.02.1', 'libassuan0', 'libsubid4'];

export interface Registry {
  /** Host and port. */
  readonly host: string;
  /** A folder with a skopeo that takes this registry without TLS. */
  readonly bin: string;
  /** The digest that the registry answers for a name. */
  digestOf(name: string): Promise<string>;
  stop(): Promise<void>;
}

/** The packages of Debian that `startRegistry` needs. */
export const findRegistry = () => debianPackages('registry', packages);

/** A registry on loopback, out of Debian's packages. */
export async function startRegistry(): Promise<Tool<Registry>> {
  const tool = await findRegistry();
  if ('skipped' in tool) return tool;
  const folder = await mkdtemp(join(tmpdir(), 'mooring-registry-'));
  const port = await freePort();
  const url = `127.0.0.1:${port}`;
  const storage = { filesystem: { rootdirectory: join(folder, 'data') } };
  await writeFile(join(folder, 'registry.yml'), JSON.stringify({ version: 0.1, storage, http: { addr: url } }));
  const policy = join(folder, 'policy.json');
  await writeFile(policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
  const env = { ...process.env, LD_LIBRARY_PATH: librariesOf(tool) };
  const skopeo = `'${join(tool.folder, 'usr/bin/skopeo')}' '--policy=${policy}' "$@" --dest-tls-verify=false`;
  const bin = join(folder, 'bin');
  await mkdir(bin);
  const script = `#!/bin/sh\nLD_LIBRARY_PATH='${env.LD_LIBRARY_PATH}' exec ${skopeo}\n`;
  await writeFile(join(bin, 'skopeo'), script, { mode: 0o755 });
  const program = join(tool.folder, 'usr/bin/docker-registry');
  const server = spawn(program, ['serve', join(folder, 'registry.yml')], { stdio: 'ignore', env });
  const ended = once(server, 'exit');
  const stop = async () => {
    server.kill();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const answers = () =>
    fetch(`http://${url}/v2/`).then(
      ({ ok }) => ok,
      () => false,
    );
  for (let tries = 0; !(await answers()); tries += 1) {
    if (tries === 100) {
      await stop();
      return { skipped: 'the registry does not answer' };
    }
    await sleep(100);
  }
  return {
    host: url,
    bin,
    async digestOf(name) {
      const [repository, tag] = name.split(':');
      const accept = { Accept: 'application/vnd.oci.image.index.v1+json' };
      const answer = await fetch(`http://${url}/v2/${repository}/manifests/${tag}`, { headers: accept });
      return answer.headers.get('docker-content-digest') ?? `HTTP ${answer.status}`;
    },
    stop,
  };
}
