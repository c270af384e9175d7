import type { Kit } from './kit.ts';

/** kubectl against the server under test, beside the kit of that fact. */
export interface Terminal {
  k: Kit;
  /** Runs kubectl in this run's namespace. Never throws for its exit code. */
  run(args: string[], stdin?: string): Promise<Result>;
  /** Runs it and wants exit code 0; gives stdout. */
  ok(args: string[], stdin?: string): Promise<string>;
  /** Starts it, and gives the lines of its stdout as they come, until `take` says that is enough or 10 s passed. */
  follow(args: string[], meanwhile: () => Promise<unknown>, enough: (stdout: string) => boolean): Promise<string>;
}

/** What kubectl said, and its exit code; -1 when it was killed. */
export interface Result {
  code: number;
  stdout: string;
  stderr: string;
}
