import { countOperations, type OperationCost, type Size } from '../../test/clouds/suite/count-operations.ts';
import { printTable } from '../table.ts';
import { candidates } from './counted-worlds.ts';

/**
 * Counts the calls of each operation on every cloud that runs here, and prints them beside those of the classic
 * controllers.
 */
export async function printCloudCalls(size: Size, say: (line: string) => void): Promise<void> {
  for (const { name, open, upstream } of candidates) {
    say(name);
    const opened = await open();
    if ('skipped' in opened) {
      console.error(`cloud-calls: ${name}: SKIPPED, ${opened.skipped}`);
      continue;
    }
    try {
      const counts = upstream(size);
      const costs = await countOperations(opened, size);
      printTable(
        `Calls of ${name}: ${size.nodes} nodes, ${size.services} Services of ${size.ports} ports`,
        ['what', 'calls', 'waits', 'classic controller'],
        costs.map(({ what, calls, waits }) => [what, String(calls), String(waits), counts[what] ?? '']),
      );
      for (const cost of costs) console.log(`- ${cost.what}: ${which(cost)}`);
      console.log('');
    } finally {
      await opened.world.close();
    }
  }
}

function which({ byOperation }: OperationCost): string {
  return [...byOperation].map(([operation, count]) => (count === 1 ? operation : `${count} x ${operation}`)).join(', ');
}
