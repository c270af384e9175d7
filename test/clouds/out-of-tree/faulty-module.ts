import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type {
  LoadBalancerDriver,
  OpenedCloud,
  OutOfTreeCloud,
  OutOfTreeModule,
} from '../../../controller/clouds/out-of-tree.ts';

/**
 * The module of the example package, which fails as a file says: `throw`, `hang` or `garbage`. The file, and beside it
 * the package, are in its configuration.
 */
export const contractVersion = 1;

export const createCloud: OutOfTreeModule['createCloud'] = (kit): OutOfTreeCloud => ({
  async open(file, context) {
    const { faultFile } = JSON.parse(file!.text) as { readonly faultFile: string };
    const require = createRequire(import.meta.url);
    const example = require(join(dirname(faultFile), 'cloud.ts')) as OutOfTreeModule;
    const opened = (await example.createCloud(kit).open(file, context)) as OpenedCloud;
    return disturbed(opened, () => readFileSync(faultFile, 'utf8'));
  },
});

type Method = (...args: never[]) => unknown;

function disturbed(opened: OpenedCloud, fault: () => string): OpenedCloud {
  const disturb = <M extends Method>(method: M): M =>
    ((...args: Parameters<M>) => {
      const kind = fault();
      if (kind === 'throw') throw new TypeError('servers is not iterable');
      if (kind === 'hang') return new Promise(() => {});
      return kind === 'garbage' ? { an: 'answer' } : method(...args);
    }) as unknown as M;
  const driver: LoadBalancerDriver = opened.loadBalancerDriver!;
  return {
    ...opened,
    identify: disturb(opened.identify),
    accepts: disturb(opened.accepts),
    check: disturb(opened.check),
    instances: { ...opened.instances, lookup: disturb(opened.instances.lookup) },
    loadBalancerDriver: {
      ...driver,
      desire: disturb(driver.desire),
      show: disturb(driver.show),
      members: disturb(driver.members),
      readers: driver.readers.map((reader) => ({ ...reader, all: disturb(reader.all), of: disturb(reader.of) })),
    },
  };
}
