import { startKubeApi } from '../test/kit/kube-api/start-kube-api.ts';

/** The embedded API server as a process: tells its parent where it is and, when asked, how many requests the controller has sent; ends when the parent lets go. */
const api = await startKubeApi();
process.send?.({ kind: api.kind, url: api.url, caPem: api.caPem, adminToken: api.adminToken });
process.on('message', () => {
  process.send?.({ requests: api.core.requests.list().filter(({ userAgent }) => userAgent === 'mooring-controller') });
});
process.once('disconnect', () => {
  void api.stop().then(() => process.exit(0));
});
