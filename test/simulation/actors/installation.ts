import { names } from '../../../common/well-known.ts';
import { serviceAccountUser, type User } from '../../kit/kube-api/auth/user.ts';
import { readShippedObjects } from '../../kit/world/manifests.ts';
import type { Cluster } from './cluster.ts';

/** Applies the shipped manifests. @returns the account of the controller, which has their rights and no others */
export function install(cluster: Cluster): User {
  for (const { path, body } of readShippedObjects()) cluster.ask('POST', path, body);
  return serviceAccountUser(names.namespace, names.controller, 'controller-uid');
}
