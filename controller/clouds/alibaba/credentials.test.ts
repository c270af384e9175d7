import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isCloudError } from '../../../common/cloud-error.ts';
import { alibabaWorld } from '../../../test/clouds/alibaba/alibaba-world.ts';
import { oidcToken, providerArn, roleArn } from '../../../test/clouds/alibaba/fake/fake-identity.ts';

const rrsa = {
  ALIBABA_CLOUD_ROLE_ARN: roleArn,
  ALIBABA_CLOUD_OIDC_PROVIDER_ARN: providerArn,
  ALIBABA_CLOUD_OIDC_TOKEN_FILE: '/var/run/secrets/token',
};

describe('credentials of Alibaba Cloud', () => {
  it('takes key and region from the RAM role of the instance', async () => {
    const world = alibabaWorld({ keyless: true, env: { ALIBABA_CLOUD_USE_INSTANCE_ROLE: 'true' } });
    const vm = await world.createVm();
    const { instances } = await world.open();
    const ref = { by: 'providerID', providerID: vm.providerID } as const;
    assert.equal((await world.during(instances.lookup([ref]))).get(vm.providerID)?.state, 'found');
    await world.close();
  });

  it('come from a token of the service account, which is read again for each renewal', async () => {
    let reads = 0;
    const readText = async () => {
      reads += 1;
      return `${oidcToken}\n`;
    };
    const world = alibabaWorld({ keyless: true, env: { ...rrsa, REGION: 'cn-hangzhou' }, readText });
    const { ping } = await world.open();
    await world.during(ping!());
    await world.during(ping!());
    assert.equal(reads, 1);
    // Five minutes before the key ends.
    await world.pass(56 * 60_000);
    await world.during(ping!());
    assert.equal(reads, 2);
    await world.close();
  });

  it('reads the token again when the API refuses a key before its end', async () => {
    let reads = 0;
    const readText = async () => {
      reads += 1;
      return oidcToken;
    };
    const world = alibabaWorld({ keyless: true, env: { ...rrsa, REGION: 'cn-hangzhou' }, readText });
    const { ping } = await world.open();
    await world.during(ping!());
    await world.pass(60_000);
    const body = { Code: 'InvalidSecurityToken.Expired', Message: 'Specified SecurityToken is expired.' };
    world.fake.fault = () => ({ status: 400, body });
    await assert.rejects(world.during(ping!()), { kind: 'Unauthorized' });
    world.fake.fault = undefined;
    await world.during(ping!());
    assert.equal(reads, 2);
    await world.close();
  });

  it('uses a key to its end while it cannot be renewed, and then says why', async () => {
    let token: string | undefined = oidcToken;
    const world = alibabaWorld({ keyless: true, env: { ...rrsa, REGION: 'cn-hangzhou' }, readText: async () => token });
    const { ping } = await world.open();
    await world.during(ping!());
    token = undefined;
    await world.pass(55 * 60_000);
    await world.during(ping!());
    await world.pass(6 * 60_000);
    await assert.rejects(world.during(ping!()), /ALIBABA_CLOUD_OIDC_TOKEN_FILE/);
    await world.close();
  });

  it('shows neither the key nor what was to be signed in a refusal', async () => {
    const world = alibabaWorld({ env: { ACCESS_KEY_SECRET: 'a-wrong-secret' } });
    const { ping } = await world.open();
    await assert.rejects(world.during(ping!()), (error: unknown) => {
      assert.ok(isCloudError(error));
      assert.equal(error.kind, 'Unauthorized');
      assert.match(error.message, /SignatureDoesNotMatch$/);
      return true;
    });
    await world.close();
  });
});
