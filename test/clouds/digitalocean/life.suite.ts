import { lifeSuite } from '../life/life-suite.ts';
import { openDigitalOceanLife } from './life-cloud.ts';

lifeSuite('a fake DigitalOcean', [openDigitalOceanLife], { services: true });
