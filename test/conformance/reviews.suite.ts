import { answered, type Fact } from './kit.ts';
import { absent, like } from './like.ts';

const authorization = '/apis/authorization.k8s.io/v1';

/** Reviews of access and of oneself, and what the server publishes about itself. */
export const reviews: Fact[] = [
  {
    id: 'J9',
    says: 'a SubjectAccessReview says whether a user may, without denied',
    async run(k) {
      const review = (spec: object) => k.post(`${authorization}/subjectaccessreviews`, { spec });
      const resourceAttributes = { verb: 'get', resource: 'nodes' };
      const refused = await review({ user: 'nobody', resourceAttributes });
      answered(refused, 201, { kind: 'SubjectAccessReview', status: { allowed: false, denied: absent } });
      const master = await review({ user: 'x', groups: ['system:masters'], resourceAttributes });
      answered(master, 201, { status: { allowed: true, reason: (reason: unknown) => !reason } });
      answered(await review({ user: 'x' }), 422);
      const path = await review({
        user: 'x',
        groups: ['system:authenticated'],
        nonResourceAttributes: { verb: 'get', path: '/version' },
      });
      answered(path, 201, { status: { allowed: true } });
      const metrics = await review({ user: 'x', nonResourceAttributes: { verb: 'get', path: '/metrics' } });
      answered(metrics, 201, { status: { allowed: false } });
    },
  },
  {
    id: 'J9b',
    says: 'a SelfSubjectAccessReview asks for oneself',
    async run(k) {
      const spec = { resourceAttributes: { verb: 'list', resource: 'nodes' } };
      const { token } = await k.account();
      const review = (as: string) => k.post(`${authorization}/selfsubjectaccessreviews`, { spec }, { token: as });
      answered(await review(k.api.adminToken), 201, { kind: 'SelfSubjectAccessReview', status: { allowed: true } });
      answered(await review(token), 201, { status: { allowed: false } });
    },
  },
  {
    id: 'J10',
    says: 'a SelfSubjectReview says who one is',
    async run(k) {
      const { name, token } = await k.account();
      const answer = await k.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, { token });
      answered(answer, 201, {
        kind: 'SelfSubjectReview',
        status: {
          userInfo: {
            username: `system:serviceaccount:${k.ns}:${name}`,
            groups: ['system:serviceaccounts', `system:serviceaccounts:${k.ns}`, 'system:authenticated'],
          },
        },
      });
    },
  },
  {
    id: 'J10b',
    says: 'an administrator may impersonate',
    realOnly: 'impersonation',
    async run(k) {
      const headers = { 'impersonate-user': 'bob' };
      const answer = await k.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', {}, { headers });
      answered(answer, 201, { status: { userInfo: { username: 'bob', groups: ['system:authenticated'] } } });
    },
  },
  {
    id: 'J11',
    says: 'the bootstrap roles hold none for a cloud controller manager',
    realOnly: 'bootstrap roles',
    async run(k) {
      const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
      answered(await k.get(`${roles}/system:cloud-controller-manager`), 404);
      for (const name of ['node-controller', 'service-controller', 'route-controller']) {
        answered(await k.get(`${roles}/system:controller:${name}`), 200);
      }
    },
  },
  {
    id: 'J12',
    says: 'the authority for client certificates is published in kube-system',
    realOnly: 'client certificates',
    async run(k) {
      const at = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication';
      const answer = await k.get(at);
      answered(answer, 200, { data: { 'client-ca-file': /BEGIN CERTIFICATE/ } });
      like(answer.object['data'], { 'requestheader-client-ca-file': absent });
    },
  },
];
