import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import type { Http } from '../../../common/process/http.ts';
import { visibleLine } from '../../../common/visible-text.ts';
import { CloudConfigError, type CloudContext, type CloudModule } from '../../clouds/cloud.ts';
import { createCloudKit } from '../../clouds/cloud-kit.ts';
import type { OutOfTreeCloud, OutOfTreeModule } from '../../clouds/out-of-tree.ts';
import { createCallGuard } from './call-guard.ts';
import { guardCloud } from './guarded-cloud.ts';
import { moduleContext } from './module-context.ts';

const contractVersion: OutOfTreeModule['contractVersion'] = 1;
const shownLength = 500;

/**
 * Loads the module of `--cloud-module NAME=PATH`: a file, or the folder of a package with `main`; CommonJS, or an ES
 * module without `await` at its top level. Throws a CloudConfigError that names the flag.
 */
export function loadCloudModule(name: string, path: string): CloudModule {
  const file = resolve(path);
  return createOutOfTreeModule(name, path, () => {
    // As in the built program, which has no loader of ES modules: both load the same files.
    const require = createRequire(file);
    return require(file) as Partial<OutOfTreeModule>;
  });
}

/**
 * The module with the cloud that it opens behind a guard. Throws a CloudConfigError that names the flag.
 *
 * @param path as the command line has it
 * @param wrapHttp as in `createCloudKit`
 */
export function createOutOfTreeModule(
  name: string,
  path: string,
  load: () => Partial<OutOfTreeModule>,
  wrapHttp?: (http: Http) => Http,
): CloudModule {
  const flag = `--cloud-module: ${JSON.stringify(`${name}=${path}`)}`;
  const wrong = (what: string) => new CloudConfigError(visibleLine(`${flag}: ${what}`, shownLength));
  const attempt = <T>(what: string, work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw wrong(`${what}: ${firstLine(error)}`);
    }
  };

  const { contractVersion: version, createCloud } = attempt('it cannot be loaded', load) ?? {};
  if (version !== contractVersion)
    throw wrong(`contractVersion: ${JSON.stringify(version) ?? 'missing'}, expected ${contractVersion}`);
  if (typeof createCloud !== 'function') throw wrong(`createCloud: ${shown(createCloud)}, expected a function`);
  const cloud: Partial<OutOfTreeCloud> | undefined = attempt('createCloud', () =>
    createCloud(createCloudKit(name, wrapHttp)),
  );
  if (typeof cloud?.open !== 'function') throw wrong(`createCloud: open: ${shown(cloud?.open)}, expected a function`);
  const { open } = cloud;

  return {
    name,
    namesOnly: cloud.namesOnly === true,
    async open(config, context) {
      try {
        return await openGuarded(name, () => open.call(cloud, config, moduleContext(name, context)), context);
      } catch (error) {
        throw wrong(`open: ${firstLine(error)}`);
      }
    },
  };
}

async function openGuarded(
  name: string,
  open: () => ReturnType<OutOfTreeCloud['open']>,
  context: CloudContext,
): ReturnType<CloudModule['open']> {
  // What it throws is a fault of the configuration, and no failure of the cloud.
  const attempt = async () => {
    try {
      return { opened: await open() };
    } catch (error) {
      return { error };
    }
  };
  const attempted = await createCallGuard(name, context.clock).call('open', undefined, attempt);
  if ('error' in attempted) throw attempted.error;
  const { opened } = attempted;
  if (typeof opened !== 'object' || opened === null) throw new Error(`${shown(opened)}, expected a cloud`);
  if (!('reportOnly' in opened)) return guardCloud(opened, name, context);
  const { reportOnly, retryable } = opened;
  if (typeof reportOnly === 'string') return { reportOnly, retryable: retryable === true };
  throw new Error(`reportOnly: ${shown(reportOnly)}, expected a text`);
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : typeof value;
}

/** Node adds the chain of requires to the message. */
function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n', 1)[0]!;
}
