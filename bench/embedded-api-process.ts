import { startKubeApi } from '../test/kit/kube-api/start-kube-api.ts';

/**
 * The embedded API server as a process. It sends its address to its parent, on request the number of requests of the
 * controller, and ends when the parent disconnects.
 */
const api = await startKubeApi();
process.send?.({ kind: api.kind, url: api.url, caPem: api.caPem, adminToken: api.adminToken });
process.on('message', () => {
  process.send?.({ requests: api.core.requests.list().filter(({ userAgent }) => userAgent === 'mooring-controller') });
});
process.once('disconnect', () => {
  void api.stop().then(() => process.exit(0));
});
