import type { ServerResponse } from 'node:http';
import { answerJson, answerNovaFault, answerPage } from './answers.ts';
import type { FakeCall, FakeOpenStack } from './openstack-state.ts';

/** Cinder v3, as far as volumes are read. */
export function cinder(fake: FakeOpenStack, { path }: FakeCall, response: ServerResponse, url: URL): void {
  const volumes = [...fake.volumes].map(([id, zone]) => ({ id, status: 'available', availability_zone: zone }));
  if (path === '/volumes/detail') {
    answerPage(fake.pageSize, response, url, 'volumes', volumes);
    return;
  }
  const volume = volumes.find(({ id }) => path === `/volumes/${id}`);
  if (volume === undefined) answerNovaFault(response, 404, 'itemNotFound', `Volume ${path} could not be found.`);
  else answerJson(response, 200, { volume });
}
