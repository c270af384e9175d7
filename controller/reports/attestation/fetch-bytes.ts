import fetch from 'node-fetch';
import type { FetchBytes } from './azure-issuers.ts';

const timeoutMs = 10_000;
const maxBytes = 64 * 1024;

/** Fetches over the network: no redirect, no proxy, ten seconds and 64 KiB at most. */
export const fetchBytes: FetchBytes = async (url) => {
  const answer = await fetch(url, {
    redirect: 'manual',
    size: maxBytes,
    signal: AbortSignal.timeout(timeoutMs) as never,
  });
  return answer.status === 200 ? new Uint8Array(await answer.arrayBuffer()) : undefined;
};
