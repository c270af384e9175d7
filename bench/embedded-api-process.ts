import { startEmbeddedApi } from '../test/conformance/embedded-api.ts';

/** The embedded API server as a process: tells its parent where it is, and ends when the parent lets go. */
const api = await startEmbeddedApi();
process.send?.({ kind: api.kind, url: api.url, caPem: api.caPem, adminToken: api.adminToken });
process.once('disconnect', () => {
  void api.stop().then(() => process.exit(0));
});
