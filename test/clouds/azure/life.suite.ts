import assert from 'node:assert/strict';
import { it } from 'node:test';
import { lifeSuite } from '../life/life-suite.ts';
import { openAzureLife } from './life-cloud.ts';

lifeSuite('a fake Azure', [openAzureLife], {
  services: true,
  own(stage) {
    it('reads with tokens that the authority has issued', () => {
      const [cloud] = stage().clouds;
      assert.ok(cloud!.fake.login.issued > 0);
    });
  },
});
