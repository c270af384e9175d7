import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { agentMetrics } from '../agent/metrics.ts';
import { agentProgram } from '../agent/program.ts';
import { cloudErrorKinds } from '../common/cloud-error.ts';
import { systemClock } from '../common/process/clock.ts';
import { parseFlags } from '../common/process/flags.ts';
import type { ProgramDefinition } from '../common/process/program.ts';
import { takesOperands } from '../common/process/program.ts';
import { providerIdCodecs } from '../common/provider-id/registry.ts';
import { processMetrics } from '../controller/app/process-metrics.ts';
import { cloudModules } from '../controller/clouds/registry.ts';
import { controllerProgram } from '../controller/commands/program.ts';
import { ipamMetrics } from '../controller/ipam/metrics.ts';
import { nodeTagMetrics } from '../controller/node-tags/metrics.ts';
import { nodeTagEventReasons, nodeTagReasons } from '../controller/node-tags/reasons.ts';
import { nodeMetrics } from '../controller/nodes/metrics.ts';
import { eventReasons, initializedReasons, interruptionReasons, missingReasons } from '../controller/nodes/reasons.ts';
import { attestationMetrics } from '../controller/reports/attestation/metrics.ts';
import { evidenceFaults } from '../controller/reports/attestation/verdict.ts';
import { reportMetrics } from '../controller/reports/metrics.ts';
import { refusals } from '../controller/reports/refusal.ts';
import { routeMetrics } from '../controller/routes/metrics.ts';
import { removalReasons, routeReasons } from '../controller/routes/reasons.ts';
import { memberMetrics } from '../controller/services/members/metrics.ts';
import { memberReasons } from '../controller/services/members/node-states.ts';
import { serviceMetrics } from '../controller/services/metrics.ts';
import { orphanMetrics } from '../controller/services/orphans/metrics.ts';
import { orphanEventReasons } from '../controller/services/orphans/reasons.ts';
import { loadBalancerReasons, serviceEventReasons } from '../controller/services/reasons.ts';
import { volumeMetrics } from '../controller/volumes/metrics.ts';
import { volumeEventReasons } from '../controller/volumes/reasons.ts';
import { inlineCommands } from '../test/docs/blocks.ts';
import { annotationsOf } from './reference-pages.ts';

const root = join(import.meta.dirname, '..');
const { signal } = new AbortController();
const world = { clock: systemClock(), random: Math.random, ask: async () => undefined };
const programs: Readonly<Record<string, ProgramDefinition>> = {
  agent: agentProgram({ ...world, platform: 'linux', signal }),
  controller: controllerProgram({ ...world, signal: signal }),
};

interface Page {
  readonly path: string;
  readonly text: string;
}

async function readPages(): Promise<Page[]> {
  const names = (await readdir(join(root, 'docs'), { recursive: true })).filter((name) => name.endsWith('.md'));
  const paths = ['README.md', 'CONTRIBUTING.md', 'deploy/kubelet/README.md', ...names.map((name) => `docs/${name}`)];
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(join(root, path), 'utf8') })));
}

/** The file's text, an empty text for a folder, undefined where there is nothing. */
async function contentOf(path: string): Promise<string | undefined> {
  return readFile(join(root, path), 'utf8').catch((error: NodeJS.ErrnoException) =>
    error.code === 'EISDIR' ? '' : undefined,
  );
}

/** Anchors of a page's headings, as the usual renderers make them. */
function anchors(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

const ourCommand =
  /(?:mooring-(agent|controller)|(agent|controller)\.cjs|npm run -s (agent|controller) --) ([a-z][\w-]*)([^#)]*)/;

/** Command lines of our programs in fenced blocks, as program, command and arguments. */
function commandLines(text: string): { line: string; program: string; command: string; args: string[] }[] {
  const blocks = [...text.matchAll(/^ *```sh\n(.*?)^ *```/gms)].map(([, block = '']) => block);
  return blocks
    .flatMap((block) => block.split('\n'))
    .flatMap((line) => {
      const found = ourCommand.exec(line);
      if (!found) return [];
      const [, plain, built, inCheckout, command = '', rest = ''] = found;
      const words = rest.split(/\s+/).filter((word) => word !== '');
      return [{ line, program: plain ?? built ?? inCheckout ?? '', command, args: words }];
    });
}

describe('the pages', async () => {
  const pages = await readPages();
  const rules = (await contentOf('deploy/chart/files/alerts.yaml')) ?? '';
  const alerts = [...rules.matchAll(/^ +- alert: (\w+)$/gm)].map(([, alert = '']) => alert);
  const prose = pages.filter(({ path }) => /^docs\/(guides|explanation)\//.test(path));

  test('says of each cloud without controller support that it is report-only', () => {
    const without = [...providerIdCodecs.keys()].filter((cloud) => !cloudModules.has(cloud));
    assert.ok(without.length > 0);
    for (const cloud of without) {
      const page = pages.find(({ path }) => path === `docs/clouds/${cloud}.md`);
      assert.match(page?.text ?? 'there is no page', /\*\*report-only\*\*.*nothing is ever deleted/s, cloud);
    }
  });

  test('documents the annotations of every cloud that has load balancers', async () => {
    const clouds = await readdir(join(root, 'controller/clouds'), { recursive: true });
    const page = pages.find(({ path }) => path === 'docs/reference/service-annotations.md');
    let seen = 0;
    for (const cloud of cloudModules.keys()) {
      if (!clouds.some((file) => file.startsWith(`${cloud}/load-balancers`))) continue;
      assert.ok((await annotationsOf(cloud))?.length, `controller/clouds/${cloud}/annotations.ts`);
      assert.match(page?.text ?? '', new RegExp(`^## ${cloud}$`, 'm'));
      seen += 1;
    }
    assert.ok(seen >= 3);
  });

  test('link to files and headings that are there', async () => {
    for (const { path, text } of pages) {
      for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        const [file = '', anchor] = target.split('#');
        const linked = file === '' ? path : relative(root, join(root, dirname(path), file));
        const content = await contentOf(linked);
        assert.notEqual(content, undefined, `${path} links to ${target}`);
        if (anchor !== undefined) assert.ok(anchors(content ?? '').includes(anchor), `${path} links to ${target}`);
      }
    }
  });

  test('names files of the repository that are there', async () => {
    for (const { path, text } of pages) {
      for (const [, file = ''] of text.matchAll(
        /`((?:agent|bench|common|controller|deploy|docs|scripts|test)\/[\w./-]+)`/g,
      )) {
        assert.notEqual(await contentOf(file), undefined, `${path} names ${file}`);
      }
    }
  });

  test('names in each row of the interface files of the folder before them', async () => {
    const page = pages.find(({ path }) => path === 'docs/reference/cloud-provider-interface.md');
    let seen = 0;
    for (const line of (page?.text ?? '').split('\n')) {
      let folder = '';
      for (const [, path, name] of line.matchAll(/`(?:([\w-]+\/[\w./-]*)|([\w-]+\.ts))`/g)) {
        if (path !== undefined) folder = path.endsWith('/') ? path : dirname(path);
        if (name === undefined) continue;
        assert.notEqual(await contentOf(join(folder, name)), undefined, `${folder} has no ${name}: ${line}`);
        seen += 1;
      }
    }
    assert.ok(seen > 10, `only ${seen} names were found`);
  });

  test('shows commands that the programs take', () => {
    let seen = 0;
    for (const { path, text } of pages) {
      for (const { line, program, command, args } of commandLines(text)) {
        const definition = programs[program]?.commands[command];
        assert.ok(definition, `${path}: ${line}`);
        const parsed = parseFlags(definition.flags, args);
        assert.ok(parsed.ok, `${path}: ${line}: ${parsed.ok ? '' : parsed.message}`);
        assert.ok(takesOperands(definition, parsed.operands.length), `${path}: ${line}`);
        seen += 1;
      }
    }
    assert.ok(seen > 10, `only ${seen} commands were found`);
  });

  test('names commands and flags in prose that the programs have', () => {
    let seen = 0;
    for (const { path, text } of pages) {
      for (const line of inlineCommands(text, ourCommand)) {
        const [, plain, built, inCheckout, command = '', rest = ''] = ourCommand.exec(line) ?? [];
        const definition = programs[plain ?? built ?? inCheckout ?? '']?.commands[command];
        assert.ok(definition, `${path}: ${line}`);
        const parsed = parseFlags(
          definition.flags,
          rest
            .trim()
            .split(' ')
            .filter((word) => word !== ''),
        );
        // The sentence adds the flags of the Deployment.
        const fault = parsed.ok || / required\b/.test(parsed.message) ? '' : parsed.message;
        assert.equal(fault, '', `${path}: ${line}`);
        seen += 1;
      }
    }
    assert.ok(seen > 40, `only ${seen} were found`);
  });

  test('names files that exist in the reasons why commands are not run', async () => {
    const reasons = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/<!-- not run: (.+) -->/g)].map(([, why = '']) => ({ path, why })),
    );
    const named = reasons.flatMap(({ path, why }) =>
      [...why.matchAll(/(?<!\S)(?:[\w.-]+\/)+[\w.-]*\w/g)].map(([file]) => ({ path, file })),
    );
    assert.ok(named.length > 5);
    for (const { path, file } of named) assert.notEqual(await contentOf(file), undefined, `${path}: ${file}`);
    const steps = (await contentOf('.ci/run')) ?? '';
    for (const { path, why } of reasons)
      for (const [, step = ''] of why.matchAll(/"([^"]+)"/g))
        assert.match(steps, new RegExp(`^ *(?:later )?step '${step}`, 'm'), `${path}: the step ${step}`);
  });

  test('names reasons, refusals and kinds of failure that exist', () => {
    const known = new Set<string>([
      ...[
        initializedReasons,
        missingReasons,
        interruptionReasons,
        eventReasons,
        refusals,
        loadBalancerReasons,
        serviceEventReasons,
        orphanEventReasons,
        routeReasons,
        removalReasons,
        evidenceFaults,
        nodeTagReasons,
        nodeTagEventReasons,
        volumeEventReasons,
      ].flatMap((set) => Object.keys(set)),
      ...memberReasons,
      ...cloudErrorKinds,
      'EvidenceRefused',
      'CloudInitialized',
      'CloudInstanceMissing',
      'CloudLoadBalancer',
      'NetworkUnavailable',
      ...alerts,
    ]);
    for (const { path, text } of prose)
      for (const [, word = ''] of text.matchAll(/`([A-Z][a-z]+(?:[A-Z][A-Za-z]*)+)`/g))
        assert.ok(known.has(word), `${path} names ${word}`);
  });

  test('names every alert in a row of the guide, in the order of the rules', () => {
    const { text = '' } = pages.find(({ path }) => path === 'docs/guides/troubleshoot.md') ?? {};
    const rows = [...text.matchAll(/^\| `(Mooring\w+)` \| .+ \| .+ \|$/gm)].map(([, alert]) => alert);
    assert.ok(alerts.length > 10);
    assert.deepEqual(rows, alerts);
  });

  test('names metrics that exist', () => {
    const known = new Set<string>(
      [
        agentMetrics,
        nodeMetrics,
        reportMetrics,
        attestationMetrics,
        processMetrics,
        serviceMetrics,
        memberMetrics,
        orphanMetrics,
        routeMetrics,
        ipamMetrics,
        nodeTagMetrics,
        volumeMetrics,
      ].flatMap((set) => Object.values(set).map(({ name }) => name)),
    );
    for (const { path, text } of prose)
      for (const [metric] of text.matchAll(
        /\b(?:mooring|leader_election|node_controller|workqueue|rest_client)_[a-z_]+/g,
      ))
        assert.ok(known.has(metric), `${path} names ${metric}`);
  });
});
