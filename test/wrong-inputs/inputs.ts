/** One wrong command line, and what it has to say. */
export interface WrongInput {
  readonly title: string;
  readonly program: 'controller' | 'agent';
  /** With `{NAME}` for a place of the world. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly code: 1 | 2;
  /** The thing that is wrong. */
  readonly names: RegExp;
  /** What to do, or what was expected. */
  readonly next: RegExp;
}

const api = '--kubeconfig={folder}/good.yaml';
const simulated = '--cloud-provider=simulated';
const hetzner = (endpoint: string) => ({ HCLOUD_TOKEN: 'x'.repeat(64), HCLOUD_ENDPOINT: endpoint });
const controller = (
  title: string,
  args: readonly string[],
  code: 1 | 2,
  names: RegExp,
  next: RegExp,
  env?: Readonly<Record<string, string>>,
): WrongInput => ({ title, program: 'controller', args, code, names, next, ...(env && { env }) });
const agent = (title: string, args: readonly string[], code: 1 | 2, names: RegExp, next: RegExp): WrongInput => ({
  title,
  program: 'agent',
  args,
  code,
  names,
  next,
});

export const wrongInputs: readonly WrongInput[] = [
  controller('a command that does not exist', ['explian', 'node', 'a'], 2, /explian/, /explain/),
  controller(
    'a mistyped flag with a space',
    ['check', '--cloud-providr', 'aws'],
    2,
    /--cloud-providr/,
    /--cloud-provider/,
  ),
  controller('a mistyped flag with =', ['check', '--cloud-providr=aws'], 2, /--cloud-providr/, /--cloud-provider/),
  controller('a flag of another command', ['status', '--adopt'], 2, /--adopt/, /a flag of run, plan/),
  controller('a flag without its value', ['status', '--kubeconfig'], 2, /--kubeconfig/, /argument/),
  controller('an unknown form of the answer', ['status', '-o', 'yamll'], 2, /yamll/, /table, json|table or json/),
  controller('an invalid duration', ['run', simulated, '--node-sync-period=5 minutes'], 2, /5 minutes/, /5m/),
  controller('an invalid CIDR', ['run', simulated, '--cluster-cidr=10.0.0.0/33'], 2, /10\.0\.0\.0\/33/, /CIDR|range/),
  controller('an invalid number', ['run', simulated, '--concurrent-service-syncs=many'], 2, /many/, /number/),
  controller('an unknown cloud', ['check', '--cloud-provider=awz'], 2, /awz/, /aws/),
  controller('help for a command that does not exist', ['help', 'explian'], 2, /explian/, /explain/),
  controller(
    'an invalid budget',
    ['run', simulated, api, '--cloud-config={folder}/cloud.yaml', '--node-deletion-budget=10 of 20'],
    2,
    /10 of 20/,
    /expected/,
  ),
  controller(
    'one cloud given twice',
    ['check', '--cloud-provider=hcloud', '--cloud-provider=hetzner', api],
    2,
    /hetzner is given twice/,
    /--cloud-provider/,
  ),
  controller('no cloud', ['run', api], 2, /--cloud-provider/, /expected|required/),
  controller('an unknown loop', ['run', simulated, '--controllers=nodes'], 2, /nodes/, /cloud-node/),
  controller(
    'two configurations of one cloud',
    ['check', simulated, '--cloud-config={folder}/a', '--cloud-config={folder}/b'],
    2,
    /--cloud-config/,
    /--cloud-provider/,
  ),
  controller(
    'a flag of upstream that cannot work',
    ['run', simulated, '--master=https://x'],
    2,
    /--master/,
    /remove|kubeconfig/,
  ),

  controller(
    'a kubeconfig that is not there',
    ['status', '--kubeconfig={folder}/none.yaml'],
    2,
    /none\.yaml/,
    /no such file|does not exist/,
  ),
  controller('a kubeconfig that is a folder', ['status', '--kubeconfig={folder}'], 2, /{folder}/, /expected a file/),
  controller(
    'an empty kubeconfig',
    ['status', '--kubeconfig={folder}/empty.yaml'],
    2,
    /empty\.yaml/,
    /expected|kubeconfig/,
  ),
  controller('half a kubeconfig', ['status', '--kubeconfig={folder}/half.yaml'], 2, /half\.yaml/, /whole kubeconfig/),
  controller(
    'a kubeconfig that is a list',
    ['status', '--kubeconfig={folder}/list.yaml'],
    2,
    /list\.yaml/,
    /whole kubeconfig/,
  ),
  controller(
    'a context that does not exist',
    ['status', '--kubeconfig={folder}/wrong-context.yaml'],
    2,
    /staging/,
    /mooring-sandbox/,
  ),
  controller('a --context that is not there', ['status', api, '--context=staging'], 2, /"staging"/, /mooring-sandbox/),
  controller('a cluster without a server', ['status', '--kubeconfig={folder}/no-server.yaml'], 2, /server/, /https:/),
  controller(
    'a login program that does not exist',
    ['status', '--kubeconfig={folder}/exec.yaml'],
    2,
    /no-such-login/,
    /ENOENT/,
  ),
  controller('a file of KUBECONFIG that is not there', ['status'], 2, /none\.yaml/, /KUBECONFIG/, {
    KUBECONFIG: '{folder}/none.yaml',
  }),
  controller('one broken file of several in KUBECONFIG', ['status'], 2, /broken\.yaml: line 2/, /YAML/, {
    KUBECONFIG: '{folder}/good.yaml:{folder}/broken.yaml',
  }),
  controller('no kubeconfig at all', ['status'], 2, /KUBECONFIG/, /--kubeconfig/, {
    KUBECONFIG: '',
    HOME: '{folder}/empty',
  }),

  controller(
    'an API server that is down',
    ['status', '--kubeconfig={folder}/closed.yaml'],
    1,
    /{closed}/,
    /is the server up/,
  ),
  controller(
    'an API server that says nothing',
    ['status', '--kubeconfig={folder}/silent.yaml'],
    1,
    /{silent}/,
    /firewall/,
  ),
  controller(
    'an API server whose name is unknown',
    ['status', '--kubeconfig={folder}/unknown-host.yaml'],
    1,
    /no-such-host\.invalid/,
    /resolve|not found|ENOTFOUND/,
  ),
  controller(
    'an API server of another CA',
    ['status', '--kubeconfig={folder}/other-ca.yaml'],
    1,
    /127\.0\.0\.1/,
    /certificate authority of the kubeconfig/,
  ),
  controller('an API server that is none', ['status', '--kubeconfig={folder}/plain-http.yaml'], 2, /{page}/, /https:/),
  controller(
    'a token that the API server refuses',
    ['explain', 'node', 'a', '--kubeconfig={folder}/unknown-token.yaml'],
    1,
    /401/,
    /credential of the kubeconfig/,
  ),
  controller(
    'a client certificate that has expired',
    ['status', '--kubeconfig={folder}/expired-certificate.yaml'],
    1,
    /client certificate of the kubeconfig/,
    /expired at 2021-01-01/,
  ),
  controller(
    'a Node that this account may not get, while it may get others',
    ['explain', 'node', 'b', '--kubeconfig={folder}/one-node.yaml'],
    1,
    /nodes "b" is forbidden/,
    /User "somebody" cannot get/,
  ),
  controller(
    'an account without rights',
    ['explain', 'node', 'a', '--kubeconfig={folder}/no-rights.yaml'],
    1,
    /nodes/,
    /nobody/,
  ),
  controller(
    'a plan without rights',
    ['plan', simulated, '--kubeconfig={folder}/no-rights.yaml', '--cloud-config={folder}/cloud.yaml'],
    1,
    /nodes|services/,
    /nobody/,
  ),

  controller('a Node that does not exist', ['explain', 'node', 'worker-9', api], 1, /worker-9/, /not found|no Node/),
  controller(
    'a Service that does not exist',
    ['explain', 'service', 'web', api, '-n', 'shop'],
    1,
    /shop\/web/,
    /not found|no Service/,
  ),
  controller('a kind that cannot be explained', ['explain', 'pod', 'a', api], 2, /pod/, /node|service/),
  controller('nothing to explain', ['explain', api], 2, /explain/, /NODE|node/),
  controller(
    'a teardown while the cloud is down',
    ['teardown', simulated, api, '--cloud-config={folder}/cloud.yaml'],
    1,
    /simulated .*{closed}/,
    /endpoint is right/,
  ),

  controller(
    'a configuration that is not there',
    ['check', '--cloud-provider=openstack', api, '--cloud-config={folder}/none.conf'],
    2,
    /none\.conf/,
    /no such file|does not exist/,
  ),
  controller(
    'a configuration that is a folder',
    ['check', '--cloud-provider=openstack', api, '--cloud-config={folder}'],
    2,
    /{folder}/,
    /file/,
  ),
  controller(
    'a configuration that is no INI file',
    ['check', '--cloud-provider=openstack', api, '--cloud-config={folder}/broken.conf'],
    2,
    /broken\.conf/,
    /line 1|\[Global/,
  ),
  controller(
    'an unknown key of a configuration',
    ['check', '--cloud-provider=openstack', api, '--cloud-config={folder}/unknown-key.conf'],
    2,
    /usernam/,
    /username|unknown|expected/,
  ),
  controller(
    'half a credential',
    ['check', '--cloud-provider=openstack', api, '--cloud-config={folder}/half-credential.conf'],
    2,
    /username/,
    /needs user-domain-name/,
  ),
  controller(
    'half a JSON',
    ['check', '--cloud-provider=azure', api, '--cloud-config={folder}/azure.json'],
    2,
    /azure\.json/,
    /JSON|line/,
  ),
  controller(
    'half a YAML',
    ['check', simulated, api, '--cloud-config={folder}/broken-cloud.yaml'],
    2,
    /broken-cloud\.yaml: line 2/,
    /YAML/,
  ),
  controller(
    'an empty file of a credential',
    ['check', '--cloud-provider=hetzner', api],
    2,
    /HCLOUD_TOKEN_FILE: the file is empty/,
    /expected one word/,
    { HCLOUD_TOKEN_FILE: '{folder}/empty-token' },
  ),
  controller(
    'a file of a credential that is not there',
    ['check', '--cloud-provider=hetzner', api],
    2,
    /HCLOUD_TOKEN_FILE/,
    /a file that can be read/,
    { HCLOUD_TOKEN_FILE: '{folder}/none' },
  ),
  controller(
    'a cloud without a credential',
    ['check', '--cloud-provider=hetzner', api],
    1,
    /HCLOUD_TOKEN/,
    /--report-only|expected|tried/,
  ),

  controller(
    'a cloud that is down',
    ['check', '--cloud-provider=hetzner', api],
    1,
    /{closed}/,
    /endpoint is right/,
    hetzner('http://{closed}'),
  ),
  controller(
    'a cloud that refuses the credential',
    ['check', '--cloud-provider=hetzner', api],
    1,
    /unable to authenticate|unauthorized/,
    /HCLOUD_TOKEN/,
    hetzner('http://{refusing}'),
  ),
  controller(
    'a cloud that fails',
    ['check', '--cloud-provider=hetzner', api],
    1,
    /503/,
    /later/,
    hetzner('http://{failing}'),
  ),
  controller(
    'a cloud that answers a web page',
    ['check', '--cloud-provider=hetzner', api],
    1,
    /JSON/,
    /endpoint is right/,
    hetzner('http://{page}'),
  ),
  controller(
    'a cloud without TLS',
    ['check', '--cloud-provider=hetzner', api],
    1,
    /{page}/,
    /TLS/,
    hetzner('https://{page}'),
  ),
  controller(
    'a cloud that says nothing',
    ['check', '--cloud-provider=hetzner', api],
    1,
    /hetzner account: no answer/,
    /endpoint is right/,
    hetzner('http://{silent}'),
  ),

  controller(
    'a cloud that connects and never answers',
    ['check', simulated, api, '--cloud-config={folder}/silent-cloud.yaml'],
    1,
    /checking, 4 s: no answer yet from http:\/\/{silent}\/p\/r; is the endpoint right, and reachable\?\n/,
    /reachable +.*; check that its endpoint is right/,
  ),

  controller(
    'a module that is not there',
    ['check', '--cloud-module=acme={folder}/none.cjs', '--cloud-provider=acme', api],
    2,
    /none\.cjs/,
    /no such file|does not exist|cannot/i,
  ),
  controller(
    'a module that throws',
    ['check', '--cloud-module=acme={folder}/throws.cjs', '--cloud-provider=acme', api],
    2,
    /throws\.cjs/,
    /it has no licence/,
  ),
  controller(
    'a module that is no cloud',
    ['check', '--cloud-module=acme={folder}/other.cjs', '--cloud-provider=acme', api],
    2,
    /other\.cjs|acme/,
    /contractVersion|createCloud/,
  ),

  controller(
    'a port that is taken',
    ['run', simulated, api, '--cloud-config={folder}/cloud.yaml', '--secure-port={taken port}'],
    1,
    /{taken port}/,
    /--secure-port/,
  ),
  controller('a port that is none', ['run', simulated, api, '--secure-port=70000'], 2, /70000/, /65535/),

  agent('a mistyped flag of the agent', ['run', '--controler-url=https://x'], 2, /--controler-url/, /--controller-url/),
  agent('no controller to report to', ['run', '--cloud=simulated'], 2, /--controller-url/, /required|expected|needs/),
  agent('a controller that is no URL', ['run', '--controller-url=controller:10270'], 2, /controller:10270/, /https/),
  agent('an unknown cloud of the agent', ['provider-id', '--cloud=hcloud'], 2, /hcloud/, /hetzner/),
  agent(
    'a metadata service that is down',
    ['provider-id', '--cloud=hetzner', '--metadata-url=http://{closed}', '--timeout=2s'],
    1,
    /{closed}/,
    /--timeout/,
  ),
  agent('a machine of no known cloud', ['provider-id', '--system-root={folder}/empty'], 1, /firmware|cloud/, /--cloud/),
];
