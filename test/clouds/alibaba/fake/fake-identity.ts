import type { FakeAnswer, ReceivedCall } from '../../fake-http.ts';
import { FakeRefusal, ok } from './fake-api.ts';
import type { FakeRegion } from './fake-region.ts';

export const roleName = 'mooring-nodes';
export const oidcToken = 'header.claims.signature-of-the-issuer';
export const roleArn = 'acs:ram::1234567890123456:role/mooring';
export const providerArn = 'acs:ram::1234567890123456:oidc-provider/ack-rrsa-c1';
const metadataToken = 'AQAEAE-metadata-token';

/** What the metadata service of an instance answers, with tokens enforced. */
export function answerMetadata(region: FakeRegion, { method, path, headers }: ReceivedCall): FakeAnswer {
  if (path === '/latest/api/token') {
    const isGood = method === 'PUT' && Number(headers['x-aliyun-ecs-metadata-token-ttl-seconds']) > 0;
    return isGood ? { status: 200, body: metadataToken } : { status: 400 };
  }
  if (headers['x-aliyun-ecs-metadata-token'] !== metadataToken) return { status: 401 };
  const credentials = 'ram/security-credentials/';
  const values: Readonly<Record<string, unknown>> = {
    'region-id': region.id,
    'vpc-id': region.vpc,
    'vswitch-id': region.vswitch,
    [credentials]: roleName,
    [credentials + roleName]: { Code: 'Success', LastUpdated: new Date(region.now()).toISOString(), ...newKey(region) },
  };
  const key = path.slice('/latest/meta-data/'.length);
  return values[key] === undefined ? { status: 404, body: 'not found' } : { status: 200, body: values[key] };
}

/** STS, for the one call that is not signed. */
export function assumeRole(region: FakeRegion, received: ReceivedCall): FakeAnswer {
  const asked = new URLSearchParams(received.text);
  if (asked.get('RoleArn') !== roleArn || asked.get('OIDCProviderArn') !== providerArn)
    throw new FakeRefusal(404, 'EntityNotExist.Role', 'The role does not exist.');
  if (asked.get('OIDCToken') !== oidcToken) throw new FakeRefusal(400, 'AuthenticationFail.OIDCToken.Invalid');
  if (!asked.get('RoleSessionName') || !asked.get('Timestamp')) throw new FakeRefusal(400, 'MissingRoleSessionName');
  return ok({ Credentials: newKey(region), AssumedRoleUser: { Arn: roleArn, AssumedRoleId: '391578752573972854' } });
}

function newKey(region: FakeRegion) {
  const endsAtMs = region.now() + region.keyLifeMs;
  const [id, secret, token] = ['STS.', 'secret-', 'CAIS-token-'].map((prefix) => region.nextId(prefix));
  region.keys.set(id!, { secret: secret!, token: token!, endsAtMs });
  const Expiration = new Date(endsAtMs).toISOString().replace(/\.\d+Z$/, 'Z');
  return { AccessKeyId: id, AccessKeySecret: secret, SecurityToken: token, Expiration };
}
