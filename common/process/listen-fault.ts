/**
 * Why a server cannot listen, for the person who started it: flag, address, cause and next step.
 *
 * @param flag the flag that moves the server to another port, such as `--secure-port`
 * @param address as it was given
 */
export function listenFault(flag: string, address: string, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const step = code === 'EADDRINUSE' ? `; another process has the port: stop it, or give another with ${flag}` : '';
  return `${flag}: cannot listen on ${address}: ${why}${step}`;
}
