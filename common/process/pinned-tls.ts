import type { Agent } from 'node:https';
import { type ConnectionOptions, connect } from 'node:tls';
import { type Clock, systemClock } from './clock.ts';

const handshakeTimeoutMs = 30_000;

/**
 * Makes an agent's connections: to a server whose certificate is valid or has this thumbprint. Nothing is sent before
 * that is known. A handshake that takes 30 s has failed.
 *
 * @param thumbprint SHA-1 or SHA-256 in upper-case hex without colons
 */
export function connectPinned(thumbprint: string, clock: Clock = systemClock()): Agent['createConnection'] {
  return (options, callback) => {
    const socket = connect({ ...(options as ConnectionOptions), rejectUnauthorized: false });
    // The HTTP agent does not have the socket yet, so only this code can end it, and it takes one of the agent's slots.
    const timer = clock.setTimer(handshakeTimeoutMs, () => {
      socket.destroy(new Error(`no TLS handshake within ${handshakeTimeoutMs / 1000} s`));
    });
    socket.once('close', () => timer.cancel());
    const fail = (error: Error) => callback?.(error, socket);
    socket.once('error', fail);
    socket.once('secureConnect', () => {
      socket.off('error', fail);
      timer.cancel();
      const { fingerprint, fingerprint256 } = socket.getPeerCertificate();
      const isPinned = [fingerprint, fingerprint256].some((one) => one?.replaceAll(':', '') === thumbprint);
      if (socket.authorized || isPinned) {
        callback?.(null, socket);
        return;
      }
      socket.destroy();
      fail(new Error(`${socket.authorizationError}, and the certificate has thumbprint ${fingerprint}`));
    });
    // The socket is not ready: the callback gives it to the agent.
    return undefined;
  };
}
