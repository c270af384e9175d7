import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defineFlags, describeFlags, type FlagValues, helpText, parseFlags } from './flags.ts';

const flags = defineFlags({
  'node-name': { kind: 'string', help: 'The node.', env: 'NODE_NAME' },
  cloud: { kind: 'string', default: 'auto', choices: ['auto', 'aws'], help: 'The cloud.' },
  output: { kind: 'string', short: 'o', default: 'table', choices: ['table', 'json'], help: 'The form.' },
  v: { kind: 'int', short: 'v', default: 0, min: 0, help: 'Verbosity.' },
  'leader-elect': { kind: 'bool', default: true, help: 'Elect.' },
  'dry-run': { kind: 'bool', help: 'Change nothing.' },
  'poll-interval': { kind: 'duration', default: '60s', min: 1000, help: 'How often.' },
  'kube-api-qps': { kind: 'number', default: 20, ignored: 'calls are not limited by a rate', help: '' },
  controllers: { kind: 'list', default: ['*'], help: 'Which.' },
  'cloud-config': { kind: 'repeat', help: 'Files.' },
  'leader-elect-resource-lock': { kind: 'string', default: 'leases', refused: 'only leases exist', help: '' },
});

function values(argv: readonly string[], env: Record<string, string> = {}): FlagValues<typeof flags> {
  const parsed = parseFlags(flags, argv, env);
  assert.ok(parsed.ok, parsed.ok ? '' : parsed.message);
  return parsed.values;
}

function message(argv: readonly string[], env: Record<string, string> = {}): string {
  const parsed = parseFlags(flags, argv, env);
  assert.ok(!parsed.ok, 'was accepted');
  assert.equal(parsed.help, false);
  return parsed.message;
}

test('gives every flag its default', () => {
  assert.deepEqual(values([]), {
    nodeName: undefined,
    cloud: 'auto',
    output: 'table',
    v: 0,
    leaderElect: true,
    dryRun: false,
    pollInterval: 60_000,
    kubeApiQps: 20,
    controllers: ['*'],
    cloudConfig: [],
    leaderElectResourceLock: 'leases',
  });
});

const accepted: readonly (readonly [readonly string[], Partial<FlagValues<typeof flags>>])[] = [
  [['--dry-run'], { dryRun: true }],
  [['--dry-run=true'], { dryRun: true }],
  [['--dry-run=T'], { dryRun: true }],
  [['--leader-elect=false'], { leaderElect: false }],
  [['--leader-elect=0'], { leaderElect: false }],
  [['--leader_elect=false'], { leaderElect: false }],
  [['-v=2'], { v: 2 }],
  [['-v', '2'], { v: 2 }],
  [['-v2'], { v: 2 }],
  [['--v=2'], { v: 2 }],
  [['-o', 'json'], { output: 'json' }],
  [['-o=json'], { output: 'json' }],
  [['-ojson'], { output: 'json' }],
  [['--output', 'json'], { output: 'json' }],
  [['--poll-interval', '1m30s'], { pollInterval: 90_000 }],
  [['--poll-interval=300s'], { pollInterval: 300_000 }],
  [['--node-name=a', '--node-name=b'], { nodeName: 'b' }],
  [['--node-name='], { nodeName: '' }],
  [['--node-name', '--dry-run'], { nodeName: '--dry-run', dryRun: false }],
  [['--node-name=a=b'], { nodeName: 'a=b' }],
  [['--controllers=*,-route', '--controllers', 'nodeipam'], { controllers: ['*', '-route', 'nodeipam'] }],
  [['--controllers='], { controllers: [] }],
  [['--cloud-config=aws=/a,b', '--cloud-config=openstack=/c'], { cloudConfig: ['aws=/a,b', 'openstack=/c'] }],
  [['--leader-elect-resource-lock=leases'], { leaderElectResourceLock: 'leases' }],
];

for (const [argv, expected] of accepted) {
  test(`reads ${argv.join(' ')} as pflag does`, () => {
    const found = values(argv);
    for (const [key, value] of Object.entries(expected)) {
      assert.deepEqual(found[key as keyof typeof found], value, key);
    }
  });
}

const rejected: readonly (readonly [readonly string[], RegExp])[] = [
  [['--poll-interval=60'], /^--poll-interval: "60", expected a duration with a unit/],
  [['--poll-interval=10ms'], /^--poll-interval: "10ms", expected at least 1s$/],
  [['--dry-run=maybe'], /^--dry-run: "maybe", expected true or false$/],
  [['--cloud=azur'], /^--cloud: "azur", expected one of auto, aws$/],
  [['-v=x'], /^--v: "x", expected a whole number$/],
  [['-v=-1'], /^--v: "-1", expected at least 0$/],
  [['--kube-api-qps=many'], /^--kube-api-qps: "many", expected a number$/],
  [['--nonsense'], /unknown option '--nonsense'/],
  [['--nde-xxme'], /^unknown option '--nde-xxme'$/],
  [['--nonsense=1'], /unknown option '--nonsense'/],
  [['--node-nam=a'], /unknown option '--node-nam' \(Did you mean --node-name\?\)/],
  [['-x'], /unknown option '-x'/],
  [['--constructor=1'], /unknown option '--constructor/],
  [['--node-name'], /'--node-name <text>' argument missing/],
  [['--no-dry-run'], /unknown option '--no-dry-run'/],
  [
    ['--leader-elect-resource-lock=endpoints'],
    /^--leader-elect-resource-lock: "endpoints" is refused: only leases exist$/,
  ],
];

for (const [argv, expected] of rejected) {
  test(`refuses ${argv.join(' ')} and names flag, value and expectation`, () => {
    assert.match(message(argv), expected);
  });
}

test('a bool never takes the next argument as its value', () => {
  const parsed = parseFlags(flags, ['--dry-run', 'false', 'node-1']);
  assert.ok(parsed.ok);
  assert.equal(parsed.values.dryRun, true);
  assert.deepEqual(parsed.operands, ['false', 'node-1']);
});

test('everything after -- is an operand', () => {
  const parsed = parseFlags(flags, ['--', '--dry-run']);
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.operands, ['--dry-run']);
  assert.equal(parsed.values.dryRun, false);
});

test('the environment replaces a missing flag, and the flag takes precedence', () => {
  assert.equal(values([], { NODE_NAME: 'from-env' }).nodeName, 'from-env');
  assert.equal(values([], { NODE_NAME: '' }).nodeName, undefined);
  assert.equal(values(['--node-name=from-flag'], { NODE_NAME: 'from-env' }).nodeName, 'from-flag');
});

test('a bad value from the environment is named with its variable', () => {
  const own = defineFlags({ every: { kind: 'duration', env: 'EVERY', help: '' } });
  const parsed = parseFlags(own, [], { EVERY: '5' });
  assert.ok(!parsed.ok);
  assert.match(parsed.message, /^--every \(from EVERY\): "5"/);
});

test('a missing required flag is named, with its environment variable', () => {
  const own = defineFlags({ 'node-name': { kind: 'string', required: true, env: 'NODE_NAME', help: '' } });
  for (const argv of [[], ['--node-name=']]) {
    const parsed = parseFlags(own, argv);
    assert.ok(!parsed.ok);
    assert.equal(parsed.message, '--node-name: required (or NODE_NAME in the environment)');
  }
  const parsed = parseFlags(own, ['--node-name=a']);
  assert.ok(parsed.ok);
  const name: string = parsed.values.nodeName;
  assert.equal(name, 'a');
});

test('an upstream flag without meaning is accepted with a warning that says why', () => {
  const parsed = parseFlags(flags, ['--kube-api-qps=50']);
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.warnings, ['--kube-api-qps has no effect: calls are not limited by a rate']);
  assert.deepEqual([...parsed.given], ['kube-api-qps']);
});

test('a custom check reports what it expected', () => {
  const own = defineFlags({
    url: { kind: 'repeat', check: (text) => (text.startsWith('https://') ? undefined : 'an https URL'), help: '' },
  });
  const parsed = parseFlags(own, ['--url=https://a', '--url=http://b']);
  assert.ok(!parsed.ok);
  assert.equal(parsed.message, '--url: "http://b", expected an https URL');
});

test('refuses definitions whose default is not of their kind', () => {
  assert.throws(() => defineFlags({ every: { kind: 'duration', default: '60', help: '' } }), /--every: default "60"/);
  assert.throws(() => defineFlags({ 'no-way': { kind: 'bool', help: '' } }), /no-way/);
});

test('--help is not a failure', () => {
  const parsed = parseFlags(flags, ['--help']);
  assert.ok(!parsed.ok);
  assert.equal(parsed.help, true);
});

test('help shows defaults, choices, variables and examples, and leaves out what has no effect', () => {
  const text = helpText(flags, 'mooring-agent run [flags]', {
    summary: 'Reports.',
    examples: ['mooring-agent run --cloud aws'],
  });
  assert.match(text, /Usage: mooring-agent run \[flags\]/);
  assert.match(text, /--poll-interval <duration>\s+How often\. \(default 60s\)/);
  assert.match(text, /--cloud <auto\|aws>/);
  assert.match(text, /env NODE_NAME/);
  assert.match(text, /Examples:\n {2}mooring-agent run --cloud aws/);
  assert.doesNotMatch(text, /kube-api-qps/);
});

test('a flag with many choices lists them in its help text, so that the column of names stays narrow', () => {
  const choices = Array.from({ length: 12 }, (_, at) => `choice-${at}`);
  const own = defineFlags({ cloud: { kind: 'string', choices, help: 'The cloud.' } });
  const text = helpText(own, 'tool run [flags]', { summary: 'Runs.', examples: [] });
  assert.match(text, /--cloud <text> {2,}The cloud\. \(one of choice-0, choice-1/);
  assert.ok(
    text.split('\n').every((line) => line.length <= 110),
    text,
  );
});

test('describes flags as rows for a reference page', () => {
  const row = describeFlags(flags).find(({ name }) => name === 'poll-interval');
  assert.deepEqual(row, {
    name: 'poll-interval',
    short: undefined,
    kind: 'duration',
    default: '60s',
    env: undefined,
    choices: undefined,
    help: 'How often.',
    repeatable: false,
    required: false,
    status: 'active',
  });
});

test('takes a flag with a bare value alone, or with a value after the equals sign, never the next argument', () => {
  const set = defineFlags({
    require: { kind: 'repeat', bare: 'all', choices: ['all', 'aws'], help: 'Of which.' },
    v: { kind: 'int', default: 0, help: '' },
  });
  const read = (...argv: string[]) => {
    const parsed = parseFlags(set, argv);
    assert.ok(parsed.ok, parsed.ok ? '' : parsed.message);
    return [parsed.values.require, parsed.operands];
  };
  assert.deepEqual(read(), [[], []]);
  assert.deepEqual(read('--require', '--v=2'), [['all'], []]);
  assert.deepEqual(read('--require', 'aws'), [['all'], ['aws']]);
  assert.deepEqual(read('--require=aws', '--require'), [['aws', 'all'], []]);
  assert.match(helpText(set, 'x', { summary: 'y', examples: [] }), /--require\[=all\|aws\]/);
});
