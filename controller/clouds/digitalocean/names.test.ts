import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Mark, parseName, printName } from './names.ts';

const owner = { cluster: '11111111-2222-4333-8444-555555555555', service: '66666666-7777-4888-8999-000000000000' };
const end = `${owner.cluster}.${owner.service}`;
const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
const title = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join('.'));

describe('the name of a load balancer', () => {
  it('says whose it is, and reads as a path of names', () => {
    assert.equal(printName({ owner, service: 'shop/web' }), `shop.web.k8s.${end}`);
    const mark = { owner, service: 'shop/web', title: 'front', hostname: 'a.example.com', isKept: true };
    assert.equal(printName(mark), `front.name.a.example.com.host.shop.web.kept.${end}`);
  });

  it('reads the same owner and Service from a name, whatever its title and hostname are', () => {
    const hostile = fc.constantFrom(`x.y.k8s.${end}`, 'a.name', 'host.b', `kept.c.d.${owner.service}`);
    const mark = fc.record({
      namespace: label,
      name: label,
      isKept: fc.boolean(),
      title: fc.option(fc.oneof(title, hostile), { nil: undefined }),
      hostname: fc.option(title, { nil: undefined }),
    });
    fc.assert(
      fc.property(mark, ({ namespace, name, ...rest }) => {
        const service = `${namespace}/${name}`;
        const other = { cluster: 'c-1', service: 's-1' };
        const read = parseName(printName({ owner: other, service, ...rest }));
        assert.deepEqual([read?.owner, read?.service, read?.isKept], [other, service, rest.isKept]);
      }),
    );
  });

  it('reads nothing from a name that others have given', () => {
    for (const name of ['a66666666777748888999000000000000', 'nyc3-load-balancer-01', `web.k8s.${end}`, ''])
      assert.equal(parseName(name), undefined as Mark | undefined, name);
  });
});
