import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Loops, parseLoops } from './loops.ts';

/** The names of the loops that run, or what was expected. */
function running(...given: readonly string[]): string {
  const loops = parseLoops(given);
  if ('expected' in loops) return loops.expected;
  return (Object.keys(loops) as (keyof Loops)[]).filter((loop) => loops[loop]).join(' ');
}

describe("upstream's name of a controller", () => {
  for (const [name, loop] of [
    ['cloud-node-controller', 'node'],
    ['cloud-node', 'node'],
    ['cloud-node-lifecycle-controller', 'lifecycle'],
    ['cloud-node-lifecycle', 'lifecycle'],
    ['service-lb-controller', 'service'],
    ['service', 'service'],
    ['node-route-controller', 'route'],
    ['route', 'route'],
    ['node-ipam-controller', 'ipam'],
    ['nodeipam', 'ipam'],
    ['tagging', 'tagging'],
    ['tagging-controller', 'tagging'],
    ['node-ipam', 'ipam'],
    ['nlb', 'service'],
    ['persistent-volume-label-controller', 'volume'],
    ['persistent-volume-label', 'volume'],
    ['persistentvolume-binder', 'volume'],
  ] as const) {
    it(`runs its loop alone, and -NAME leaves that loop out: ${name}`, () => {
      assert.equal(running(name), loop);
      const others = ['node', 'lifecycle', 'service', 'route'].filter((other) => other !== loop);
      assert.equal(running('*', `-${name}`), others.join(' '));
    });
  }

  for (const [name, loop] of [
    ['nodeipam', 'ipam'],
    ['tagging', 'tagging'],
  ] as const) {
    it(`runs only where it is named: ${name}`, () => {
      assert.equal(running('*'), 'node lifecycle service route');
      assert.equal(running('*', name), `node lifecycle service route ${loop}`);
      assert.equal(running('*', `-${name}`, name), running('*'));
    });
  }

  it('runs both loops about Nodes for the one that Alibaba has, and -NAME leaves both out', () => {
    assert.equal(running('node', 'route', 'service', 'nlb'), 'node lifecycle service route');
    assert.equal(running('node'), 'node lifecycle');
    assert.equal(running('*', '-node'), 'service route');
    assert.equal(running('cloud-node'), 'node');
  });

  for (const [name, why] of [
    ['ingress', /ALB Ingress Controller$/],
    ['pvtz', /ExternalDNS$/],
  ] as const) {
    it(`refuses ${name} with the reason that other programs do that work, and accepts -${name}`, () => {
      assert.match(running('*', name), new RegExp(`in place of ${name}: `));
      assert.match(running(name), why);
      assert.equal(running('*', `-${name}`), running('*'));
    });
  }

  for (const name of ['persistent-volume', 'route-controller', 'service-controller', 'constructor', '']) {
    it(`refuses by its name a loop that upstream does not know either: ${JSON.stringify(name)}`, () => {
      for (const given of [name, `-${name}`])
        assert.match(running('*', given), new RegExp(`^\\* or one of [^:]* in place of ${name}$`));
    });
  }
});
