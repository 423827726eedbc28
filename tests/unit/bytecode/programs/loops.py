"""Loops: for, while, else, break, continue, nesting, iterators that end early."""

LOG = []


class Noisy:
    """An iterator whose end of life is visible."""

    def __init__(self, count, fail_at=None):
        self.count, self.fail_at, self.at = count, fail_at, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == self.fail_at:
            raise RuntimeError(f"item {self.at}")
        if self.at == self.count:
            raise StopIteration
        self.at += 1
        return self.at

    def __del__(self):
        LOG.append(f"gone at {self.at}")


def case_sum():
    total = 0
    for i in range(10):
        total += i
    return total, i


def case_while():
    n, steps = 27, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def case_for_else():
    for x in [1, 3, 5]:
        if x % 2 == 0:
            break
    else:
        return "none even"
    return x


def case_for_else_break():
    for x in [1, 4, 5]:
        if x % 2 == 0:
            break
    else:
        return "none even"
    return x


def case_while_else():
    n = 3
    while n:
        n -= 1
    else:
        n = "done"
    return n


def case_continue():
    out = []
    for i in range(6):
        if i % 2:
            continue
        out.append(i)
    return out


def case_while_true():
    n = 0
    while True:
        n += 1
        if n > 5:
            return n


def case_while_one_continue():
    n = 0
    while 1:
        n += 1
        if n < 4:
            continue
        break
    return n


def case_nested_break():
    out = []
    for i in range(4):
        for j in range(4):
            if j > i:
                break
            if i == 2:
                continue
            out.append((i, j))
    return out


def case_return_in_nested():
    for i in range(3):
        for j in range(3):
            if i * j == 2:
                return i, j
    return None


def case_unpack_targets():
    return [a + b * c for a, (b, c) in [(1, (2, 3)), (4, (5, 6))]]


def case_star_target():
    out = []
    for first, *rest in [(1, 2, 3), (4,)]:
        out.append((first, rest))
    return out


def case_target_attribute():
    class Box:
        pass

    box = Box()
    for box.value in range(3):
        pass
    return box.value


def case_target_item():
    d = {}
    for d["k"] in range(3):
        pass
    return d


def case_iterator_released_on_break():
    LOG.clear()
    for x in Noisy(5):
        if x == 3:
            break
    LOG.append("after")
    return list(LOG)


def case_iterator_released_on_return():
    LOG.clear()

    def inner():
        for x in Noisy(5):
            return LOG.append("returning") or x

    inner()
    return list(LOG)


def case_iterator_raises():
    LOG.clear()
    try:
        for x in Noisy(5, 2):
            LOG.append(x)
    except RuntimeError as e:
        LOG.append(str(e))
    return list(LOG)


def case_not_iterable():
    for x in 5:
        return x


def case_enumerate_zip():
    return [(i, a, b) for i, (a, b) in enumerate(zip("abc", range(3)))]


def case_modify_while_iterating():
    xs = [1, 2, 3, 4]
    for x in xs:
        if x == 2:
            xs.remove(3)
    return xs


def case_dict_changed():
    d = {1: 1}
    for k in d:
        d[k + 1] = 1


def case_while_with_or():
    a, b = 3, 2
    out = []
    while a or b:
        a, b = max(a - 1, 0), max(b - 1, 0)
        out.append((a, b))
    return out


def case_while_not():
    done, n = False, 0
    while not done:
        n += 1
        done = n >= 3
    return n


def case_while_is_none():
    x, n = None, 0
    while x is None:
        n += 1
        x = n if n > 2 else None
    return x


def case_while_walrus():
    it = iter([3, 2, 0, 1])
    out = []
    while (x := next(it)) > 0:
        out.append(x)
    return out, x


def case_loop_variable_survives():
    for i in []:
        pass
    return i


def case_deep_nest():
    n = 0
    for a in range(2):
        for b in range(2):
            for c in range(2):
                for d in range(2):
                    if a and b and not c or d:
                        n += 1
    return n


def case_pass_loop():
    for _ in range(3):
        pass
    return _


def case_long_body():
    x = 0
    for i in range(2):
        x += 1; x += 2; x += 3; x += 4; x += 5; x += 6; x += 7; x += 8; x += 9; x += 10
        x -= 1; x -= 2; x -= 3; x -= 4; x -= 5; x -= 6; x -= 7; x -= 8; x -= 9; x -= 10
        x *= 3; x += i; x *= 3; x += i; x *= 3; x += i; x *= 3; x += i; x *= 3; x += i
        x *= 3; x += i; x *= 3; x += i; x *= 3; x += i; x *= 3; x += i; x *= 3; x += i
        x *= 3; x += i; x *= 3; x += i; x *= 3; x += i; x *= 3; x += i; x *= 3; x += i
        x *= 3; x += i; x *= 3; x += i; x *= 3; x += i; x *= 3; x += i; x *= 3; x += i
        x *= 3; x += i; x *= 3; x += i; x *= 3; x += i; x *= 3; x += i; x *= 3; x += i
    return x
