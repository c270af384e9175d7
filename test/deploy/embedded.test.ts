import { describe, test } from 'node:test';
import type { Check } from '../conformance/api-under-test.ts';
import { startEmbeddedApi } from '../conformance/embedded-api.ts';
import { findKubectl } from '../real/binaries.ts';
import { deploySuite } from './manifests.suite.ts';

const kubectl = await findKubectl(process.env);

describe('the manifests on the embedded Kubernetes API', () => {
  test('deploy', async (t) => {
    const api = await startEmbeddedApi();
    const check: Check = async (name, body, { skip } = {}) => {
      await t.test(name, skip === undefined ? {} : { skip }, body);
    };
    try {
      await deploySuite(kubectl).run(api, check);
    } finally {
      await api.stop();
    }
  });
});
