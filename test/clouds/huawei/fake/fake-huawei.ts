import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../../common/process/clock.ts';
import { type FakeAnswer, httpOf, type Json, type ReceivedCall } from '../../fake-http.ts';
import { FakeRefusal } from './fake-api.ts';
import { emptyBalancing, type FakeSubnet } from './fake-balancing.ts';
import { answerEips, answerEipsV3, answerSubnets } from './fake-eips.ts';
import { answerElb, answerElbV2 } from './fake-elb.ts';
import type { FakeProject } from './fake-project.ts';
import type { FakeServer } from './fake-server.ts';
import { answerAction, answerServers } from './fake-servers.ts';
import { verifySignature } from './fake-signature.ts';
import type { FakeTable } from './fake-table.ts';
import { answerTables } from './fake-tables.ts';

export const accessKey = { id: 'FAKEACCESSKEYID00001', secret: 'fake-secret-of-the-access-key-0000000001' };
export const agencyKey = { id: 'FAKEAGENCYKEYID00001', secret: 'fake-secret-of-the-agency-key-0000000001' };
export const region = 'cn-north-4';
/** Of all servers. */
export const subnet: FakeSubnet = {
  id: '6fe4d3c2-51a4-4e2f-9d7c-0d2f6c1e8a01',
  name: 'nodes',
  cidr: '192.168.0.0/16',
  vpc: '99d9d709-8478-4b46-9f3f-2206b1023fd3',
  neutron: '6fe4d3c2-51a4-4e2f-9d7c-0d2f6c1e8a02',
};
export const vpcId = '99d9d709-8478-4b46-9f3f-2206b1023fd3';

/** Every service on one host: their paths differ. */
export function createFakeHuawei(clock: Clock): FakeProject {
  let made = 0;

  function route(call: ReceivedCall): FakeAnswer {
    const [, version, project, ...rest] = call.path.split('/');
    if (call.path === '/v3/projects') return { status: 200, body: { projects: projectsOf(call), links: { self: '' } } };
    if (project !== fake.project || call.headers['x-project-id'] !== fake.project)
      throw new FakeRefusal(403, 'APIGW.0303', 'project of the path is not that of the credential');
    if (version === 'v1' && rest[0] === 'cloudservers') return answerServers(fake, rest.slice(1), call);
    if (version === 'v2.1' && rest[0] === 'servers') return answerAction(fake, rest.slice(1), call);
    if (version === 'v1' && rest[0] === 'routetables') return answerTables(fake, rest.slice(1), call);
    if (version === 'v1' && rest[0] === 'subnets') return answerSubnets(fake, call);
    if (version === 'v1' && rest[0] === 'publicips') return answerEips(fake, rest.slice(1), call);
    if (version === 'v2' && rest[0] === 'elb') return answerElbV2(fake, rest.slice(1), call);
    if (version === 'v3' && rest[0] === 'elb') return answerElb(fake, rest.slice(1), call);
    if (version === 'v3' && rest.slice(0, 2).join('/') === 'eip/publicips')
      return answerEipsV3(fake, rest.slice(2), call);
    throw new FakeRefusal(404, 'APIGW.0101', 'The API does not exist or has not been published');
  }
  const projectsOf = ({ query }: ReceivedCall): Json[] => {
    const all = [{ id: fake.project, name: region, domain_id: randomUUID().replaceAll('-', ''), enabled: true }];
    return all.filter(({ name }) => !query.has('name') || query.get('name') === name);
  };

  function securityKey(): FakeAnswer {
    if (fake.agency === undefined) return { status: 404, body: 'Not Found' };
    made += 1;
    const [access, token] = [`${agencyKey.id}${made}`, `fake-security-token-${made}`];
    fake.keys.set(access, { secret: agencyKey.secret, token });
    const expires = new Date(clock.now() + fake.agency.lifeMs).toISOString().replace('Z', '000Z');
    const credential = { access, secret: agencyKey.secret, securitytoken: token, expires_at: expires };
    return { status: 200, body: { credential } };
  }

  function answer(call: ReceivedCall): FakeAnswer {
    fake.calls.push(call);
    try {
      const instead = fake.fault?.(call);
      if (instead !== undefined) return instead;
      if (call.path === '/openstack/latest/securitykey') return securityKey();
      verifySignature(call, fake.keys, clock.now());
      return route(call);
    } catch (error) {
      if (!(error instanceof FakeRefusal)) throw error;
      return error.answer;
    }
  }

  const fake: FakeProject = {
    calls: [],
    keys: new Map([[accessKey.id, { secret: accessKey.secret }]]),
    project: '0605767c6e80d5762fd6c00d5b6a3b4a',
    servers: new Map(),
    tables: new Map(),
    balancing: emptyBalancing([subnet]),
    maxRoutes: 200,
    deletesUsedListeners: false,
    agency: undefined,
    fault: undefined,
    answer,
    addServer(name, more = {}) {
      made += 1;
      const server: FakeServer = {
        id: randomUUID(),
        name,
        status: 'ACTIVE',
        zone: `${region}a`,
        flavor: 's6.large.2',
        vpc: vpcId,
        groups: ['1e2b5d5f-2d1c-4a3f-9a7e-1f0f5a2f7a01'],
        address: `192.168.${made >> 8}.${(made % 250) + 2}`,
        elastic: `203.0.113.${(made % 250) + 2}`,
        ...more,
      };
      fake.servers.set(server.id, server);
      return server;
    },
    http: httpOf(answer),
  };
  const table: FakeTable = { id: randomUUID(), name: `rtb-${vpcId}`, isDefault: true, vpc: vpcId, routes: [] };
  fake.tables.set(table.id, table);
  return fake;
}
