import type { Urgency } from '../urgency.ts';

export interface Reading {
  readonly urgency: Urgency;
  readonly signal: AbortSignal | undefined;
}

export const callsAtOnce = 4;
/** Servers are read again after this time, or when an answer of our own has not shown them. */
export const serversMaxAgeMs = 15 * 60_000;
