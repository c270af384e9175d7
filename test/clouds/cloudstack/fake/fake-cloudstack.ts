import { createHmac, randomUUID } from 'node:crypto';
import type { Clock } from '../../../../common/process/clock.ts';
import { type FakeAnswer, httpOf, type Json, type ReceivedCall } from '../../fake-http.ts';
import type { Command, FakeAccount, FakeJob } from './fake-account.ts';
import { answerOf, apiCommands, FakeRefusal, noEntity, pageOf, validate } from './fake-api.ts';
import { changes } from './fake-changes.ts';
import { apiKey, secretKey } from './fake-keys.ts';
import { lists } from './fake-lists.ts';

export function createFakeCloudStack(clock: Clock): FakeAccount {
  let made = 0;
  let vms = 0;

  /** What jobs have done by now. */
  function settle(): void {
    for (const job of fake.jobs.values()) if (job.outcome === undefined && clock.now() >= job.endsAt) end(job);
  }
  function end(job: FakeJob): void {
    try {
      job.outcome = { status: 1, result: job.run() };
    } catch (error) {
      if (!(error instanceof FakeRefusal)) throw error;
      job.outcome = { status: 2, result: { errorcode: error.code, errortext: error.message } };
    }
  }

  function perform(command: Command): Json {
    const { name, params } = command;
    if (fake.forbidden.has(name)) throw new FakeRefusal(432, `The user is not allowed to request the API command`);
    validate(command);
    const project = params.get('projectid');
    if (project !== undefined && project !== fake.project) throw noEntity(name, 'projectid', project);
    if (name === 'queryAsyncJobResult') return showJob(params.get('jobid')!);
    if (name === 'listApis') {
      const [api] = Object.keys(apiCommands).filter((one) => one === params.get('name') && !fake.forbidden.has(one));
      if (api === undefined)
        throw new FakeRefusal(530, 'Api Discovery plugin was unable to find an api by that name or process any apis');
      return { count: 1, api: [{ name: api, isasync: apiCommands[api]!.isAsync, params: [], response: [] }] };
    }
    const list = lists[name];
    if (list !== undefined) {
      // Without its project a list shows what the account has outside of all projects.
      const isBlind = fake.project !== project && !['listAccounts', 'listProjects'].includes(name);
      const { collection, items } = list;
      return pageOf(collection, isBlind ? [] : items(fake, command), command);
    }
    const { id, run } = changes[name]!(fake, command);
    const job: FakeJob = { id: randomUUID(), command: name, endsAt: clock.now() + fake.jobMs, run, outcome: undefined };
    fake.jobs.set(job.id, job);
    return { ...(id !== undefined && { id }), jobid: job.id };
  }

  function showJob(id: string): Json {
    const job = fake.jobs.get(id);
    if (job === undefined) throw noEntity('queryAsyncJobResult', 'jobid', id);
    const { outcome } = job;
    return {
      accountid: fake.account,
      userid: '27f2484f-5fe0-11ea-9a56-1e006800018c',
      jobid: id,
      jobprocstatus: 0,
      cmd: `org.apache.cloudstack.api.command.user.${job.command}Cmd`,
      created: '2021-10-04T04:37:08+0000',
      jobstatus: outcome?.status ?? 0,
      jobresultcode: outcome?.status === 2 ? 530 : 0,
      ...(outcome !== undefined && { jobresulttype: 'object', jobresult: outcome.result }),
    };
  }

  function answer(call: ReceivedCall): FakeAnswer {
    const sent = [...call.query, ...new URLSearchParams(call.text)];
    const params = new Map(sent);
    const command: Command = { name: params.get('command') ?? '', params };
    fake.commands.push(command);
    settle();
    try {
      const instead = fake.fault?.(command);
      if (instead !== undefined) return instead;
      authenticate(sent);
      return answerOf(command.name, 200, perform(command));
    } catch (error) {
      if (!(error instanceof FakeRefusal)) throw error;
      return answerOf(command.name, error.code, error.body());
    }
  }

  /** As the management server does it: over all that was sent, but for the signature. */
  function authenticate(sent: readonly (readonly [string, string])[]): void {
    const refused = new FakeRefusal(401, 'unable to verify user credentials and/or request signature');
    const params = new Map(sent.map(([name, value]) => [name.toLowerCase(), value]));
    const pairs = sent
      .filter(([name]) => name.toLowerCase() !== 'signature')
      .sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
      .map(([name, value]) => `${name}=${javaEncode(value)}`.toLowerCase());
    const expected = createHmac('sha1', secretKey).update(pairs.join('&')).digest('base64');
    if (params.get('apikey') !== apiKey || params.get('signature') !== expected) throw refused;
    const expires = Date.parse(params.get('expires') ?? '');
    if (params.get('signatureversion') === '3' && !(expires > clock.now())) throw refused;
    if (params.get('response') !== 'json') throw new FakeRefusal(431, 'the fake answers JSON alone');
  }

  const fake: FakeAccount = {
    commands: [],
    vms: new Map(),
    networks: new Map(),
    addresses: new Map(),
    rules: new Map(),
    policies: new Map(),
    firewall: new Map(),
    acls: new Map(),
    jobs: new Map(),
    forbidden: new Set(),
    fault: undefined,
    answer,
    account: '27ef5ba2-5fe0-11ea-9a56-1e006800018c',
    project: undefined,
    jobMs: 1000,
    maxAddresses: 20,
    takesUdp: false,
    emptyTagValueIsAny: false,
    http: httpOf(answer),
    addVm(name, network = fake.network.id) {
      const fields = { name, state: 'Running', zone: 'SimZone1', offering: 'Small Instance', networks: [network] };
      vms += 1;
      const vm = { id: randomUUID(), number: 10 + (vms % 240), ...fields, more: {} };
      fake.vms.set(vm.id, vm);
      return vm;
    },
    addNetwork(more = {}) {
      const services = ['Lb', 'Firewall', 'SourceNat', 'Dhcp', 'UserData'];
      const fields = { name: 'nodes', services, vpc: undefined, acl: undefined, isOthers: false, tags: {} };
      const network = { id: randomUUID(), ...fields, ...more };
      fake.networks.set(network.id, network);
      return network;
    },
    addAddress(more = {}) {
      made += 1;
      const allocatedAt = new Date(clock.now()).toISOString().replace(/\.\d+Z$/, '+0000');
      const address = {
        id: randomUUID(),
        ip: `203.0.113.${made % 250}`,
        state: 'Allocated' as const,
        network: fake.network.id,
        vpc: undefined,
        tags: {},
        allocatedAt,
        isSourceNat: false,
        ...more,
      };
      fake.addresses.set(address.id, address);
      return address;
    },
    get network() {
      return network;
    },
  };
  const network = fake.addNetwork();
  return fake;
}

function javaEncode(text: string): string {
  const encoded = encodeURIComponent(text);
  return encoded.replace(/[!'()~]/g, (sign) => `%${sign.charCodeAt(0).toString(16)}`);
}
