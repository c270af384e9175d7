import type { FakeAnswer, FakeCall, Json } from '../fake-http.ts';
import { FakeRefusal, invalidInput, labelsOf } from './fake-api.ts';
import type { FakeHetzner } from './fake-project.ts';
import type { FakeCertificate } from './fake-resources.ts';

export function showCertificate(fake: FakeHetzner, one: FakeCertificate): Json {
  const uses = [...fake.balancers.values()].filter(({ services }) =>
    services.some(({ http }) => (http?.['certificates'] as number[] | undefined)?.includes(one.id)),
  );
  return {
    ...one,
    fingerprint: '03:c7:55:9b',
    not_valid_before: one.created,
    not_valid_after: '2027-01-01T00:00:00Z',
    used_by: uses.map(({ id }) => ({ id, type: 'load_balancer' })),
    status: one.type === 'uploaded' ? null : { issuance: 'completed', renewal: 'scheduled', error: null },
  };
}

/** POST /certificates. Only a managed one starts an action. */
export function createCertificate(fake: FakeHetzner, { body }: FakeCall): FakeAnswer {
  const { type = 'uploaded', name, certificate, private_key: key, domain_names: domains } = body;
  if (typeof name !== 'string' || name === '') throw invalidInput('name', 'is required');
  for (const other of fake.certificates.values())
    if (other.name === name) throw new FakeRefusal(409, 'uniqueness_error', 'name is already used');
  if (type === 'uploaded' && (typeof certificate !== 'string' || typeof key !== 'string'))
    throw invalidInput('certificate', 'certificate and private_key are required');
  if (type === 'managed' && !Array.isArray(domains)) throw invalidInput('domain_names', 'is required');
  const one: FakeCertificate = {
    id: fake.nextId(),
    name,
    created: fake.now(),
    labels: labelsOf(body, {}),
    type: type === 'managed' ? 'managed' : 'uploaded',
    domain_names: type === 'managed' ? (domains as string[]) : ['example.com'],
    certificate: typeof certificate === 'string' ? certificate : '-----BEGIN CERTIFICATE-----\n...',
  };
  fake.certificates.set(one.id, one);
  const resources = [{ id: one.id, type: 'certificate' }];
  const action = type === 'managed' ? fake.actions.start('create_certificate', resources) : null;
  return { status: 201, body: { certificate: showCertificate(fake, one), ...(action === null ? {} : { action }) } };
}

/** PUT and DELETE /certificates/{id}. */
export function changeCertificate(fake: FakeHetzner, one: FakeCertificate, { method, body }: FakeCall): FakeAnswer {
  if (method === 'DELETE') {
    const { used_by: uses } = showCertificate(fake, one) as { used_by: unknown[] };
    if (uses.length > 0) throw new FakeRefusal(409, 'resource_in_use', `certificate ${one.id} is in use`);
    fake.certificates.delete(one.id);
    return { status: 204 };
  }
  one.labels = labelsOf(body, one.labels);
  one.name = String(body['name'] ?? one.name);
  return { status: 200, body: { certificate: showCertificate(fake, one) } };
}
