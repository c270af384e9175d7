import { startFakeMetadata } from '../agent/testing/fake-metadata.ts';
import { askedOf, instanceDocuments } from './azure-metadata.ts';

/** The service as a process. Its parent sends the names of the VMs, and is sent the URL. */
process.once('message', async (vms: readonly string[]) => {
  const documents = await instanceDocuments(vms);
  const { url } = await startFakeMetadata((request) => {
    const asked = askedOf(request);
    // Without a public address there is no document of a load balancer.
    return asked?.path.startsWith('/metadata/instance?') ? documents.get(asked.vm) : undefined;
  });
  process.send?.(url);
});
process.once('disconnect', () => process.exit(0));
