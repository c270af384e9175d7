import { type Child, startChild } from './child.ts';
import { agentMain, controllerMain } from './shortened.ts';

/**
 * Starts a shipped program.
 *
 * @param args after `run`
 * @param logFile for what it prints
 */
export type StartProgram = (program: 'agent' | 'controller', args: readonly string[], logFile: string) => Child;

/**
 * As shipped but for --lite-mode, under which Node cannot run TypeScript, and with the heap that the container's limit
 * gives.
 */
const nodeFlags = {
  agent: ['--max-old-space-size=24', '--max-semi-space-size=1', agentMain],
  controller: ['--max-semi-space-size=1', '--max-old-space-size=128', '--optimize-for-size', controllerMain],
};

/** From its sources. */
export const startFromSources: StartProgram = (program, args, logFile) =>
  startChild([...nodeFlags[program], 'run', ...args], logFile);
