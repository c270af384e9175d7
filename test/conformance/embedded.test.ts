import { describe, test } from 'node:test';
import { findKubectl } from '../real/binaries.ts';
import type { Check } from './api-under-test.ts';
import { startEmbeddedApi } from './embedded-api.ts';
import { conformanceSuites } from './suites.ts';

const kubectl = await findKubectl(process.env);

describe('the embedded Kubernetes API answers like a real one', { concurrency: true }, () => {
  for (const suite of conformanceSuites({ kubectl })) {
    test(suite.name, { concurrency: true }, async (t) => {
      const api = await startEmbeddedApi();
      const check: Check = async (name, body, { skip } = {}) => {
        await t.test(name, skip === undefined ? {} : { skip }, body);
      };
      try {
        await suite.run(api, check);
      } finally {
        await api.stop();
      }
    });
  }
});
