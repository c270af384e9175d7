import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Loops, parseLoops } from './options/loops.ts';
import { permissionsFor } from './permissions.ts';

function parsed(...controllers: readonly string[]): Loops {
  const loops = parseLoops(controllers);
  assert.ok('node' in loops);
  return loops;
}

/** `verb resource[/name]` of what these `--controllers` need. */
function rightsFor(...controllers: readonly string[]): string[] {
  return permissionsFor(parsed(...controllers), 'kube-system').flatMap(({ verbs, resource, name }) =>
    verbs.map((verb) => `${verb} ${resource}${name === undefined ? '' : `/${name}`}`),
  );
}

describe('the rights of the controller', () => {
  it('grants the deletion of Nodes with the lifecycle loop alone', () => {
    assert.ok(rightsFor('*').includes('delete nodes'));
    assert.ok(rightsFor('cloud-node-lifecycle').includes('delete nodes'));
    assert.ok(!rightsFor('*', '-cloud-node-lifecycle').includes('delete nodes'));
  });

  it('grants the records of routes with the route loop alone', () => {
    assert.ok(rightsFor('*').includes('patch configmaps/mooring-routes'));
    assert.ok(!rightsFor('*', '-route').includes('patch configmaps/mooring-routes'));
  });

  it('grants Services with the service loop alone', () => {
    assert.ok(rightsFor('service').includes('patch services/status'));
    assert.ok(!rightsFor('cloud-node').some((right) => right.includes('services')));
  });

  it('grants the Lease that is named in place of the usual one', () => {
    const leases = permissionsFor(parsed('cloud-node'), 'site', { namespace: 'apart', name: 'own' })
      .filter(({ why }) => why === 'election')
      .map(({ namespace, name }) => `${namespace}/${name}`);
    assert.deepEqual(leases, ['apart/own']);
  });

  it('grants the election and the pause key for every loop', () => {
    for (const loop of ['cloud-node', 'cloud-node-lifecycle', 'service', 'route', 'nodeipam'])
      for (const right of ['update leases/cloud-controller-manager', 'watch configmaps/mooring-ca'])
        assert.ok(rightsFor(loop).includes(right), `${loop}: ${right}`);
  });
});
