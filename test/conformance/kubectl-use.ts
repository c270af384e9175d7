import type { Terminal } from './terminal.ts';

/** One thing that people do with kubectl. */
export interface Use {
  id: string;
  says: string;
  realOnly?: string;
  run(t: Terminal): Promise<void>;
}
