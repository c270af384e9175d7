import type { LastSeen } from './reader.ts';

/** What the process knows of its vCenters for as long as it runs: a cloud that is opened again takes it over. */
export interface Memory {
  readonly lastSeen: LastSeen;
}

export function createMemory(): Memory {
  return { lastSeen: new Map() };
}
