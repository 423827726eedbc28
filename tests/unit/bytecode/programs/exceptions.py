"""try, except, else, finally, raise, context and cause, tracebacks, exception groups."""

import sys

LOG = []


def fail(kind=ValueError, *args):
    raise kind(*args)


def case_uncaught():
    x = {"a": 1}
    return x["b"]


def case_uncaught_deep():
    def inner(n):
        if n == 0:
            return 1 / 0
        return inner(n - 1)

    return inner(3)


def case_multi_line_expression():
    a = [1]
    return (
        a[0]
        + a[
            5
        ]
    )


def case_caught():
    try:
        fail(ValueError, "x")
    except ValueError as e:
        return e.args


def case_name_is_deleted():
    try:
        fail()
    except ValueError as e:
        pass
    return e


def case_tuple_of_types():
    try:
        fail(KeyError, 1)
    except (IndexError, KeyError) as e:
        return type(e).__name__


def case_second_handler():
    try:
        fail(KeyError, 1)
    except IndexError:
        return "index"
    except KeyError:
        return "key"


def case_bare_except():
    try:
        fail(KeyboardInterrupt)
    except:  # noqa: E722
        return sys.exc_info()[0].__name__


def case_else():
    out = []
    try:
        out.append(1)
    except ValueError:
        out.append(2)
    else:
        out.append(3)
    finally:
        out.append(4)
    return out


def case_else_raises():
    try:
        pass
    except ValueError:
        return "caught"
    else:
        fail(ValueError, "from else")


def case_finally_runs():
    LOG.clear()
    try:
        try:
            fail(ValueError, "a")
        finally:
            LOG.append("finally")
    except ValueError:
        LOG.append("outer")
    return list(LOG)


def case_finally_overrides_return():
    try:
        return 1
    finally:
        return 2  # noqa: B012


def case_finally_swallows():
    try:
        fail()
    finally:
        return "swallowed"  # noqa: B012


def case_finally_in_loop_continue():
    out = []
    for i in range(4):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            out.append(i)
        finally:
            out.append(("f", i))
    return out


def case_finally_in_loop_return():
    LOG.clear()

    def inner():
        for i in range(4):
            try:
                if i == 2:
                    return i
            finally:
                LOG.append(i)

    return inner(), list(LOG)


def case_continue_in_finally():
    out = []
    for i in range(3):
        try:
            fail()
        finally:
            out.append(i)
            continue  # noqa: B012
    return out


def case_nested_finally():
    LOG.clear()
    try:
        try:
            try:
                fail(KeyError, 1)
            finally:
                LOG.append(1)
        finally:
            LOG.append(2)
    except KeyError:
        LOG.append(3)
    return list(LOG)


def case_reraise():
    try:
        fail(ValueError, "again")
    except ValueError:
        raise


def case_raise_from():
    try:
        fail(KeyError, 1)
    except KeyError as e:
        raise RuntimeError("wrapped") from e


def case_raise_from_none():
    try:
        fail(KeyError, 1)
    except KeyError:
        raise RuntimeError("alone") from None


def case_implicit_context():
    try:
        fail(KeyError, 1)
    except KeyError:
        fail(TypeError, "second")


def case_context_in_finally():
    try:
        fail(KeyError, 1)
    finally:
        fail(TypeError, "second")


def case_context_chain():
    try:
        try:
            fail(KeyError, 1)
        except KeyError:
            fail(TypeError, 2)
    except TypeError as e:
        return type(e.__context__).__name__, e.__context__.args, e.__cause__


def case_exc_info_after():
    try:
        fail()
    except ValueError:
        inside = sys.exc_info()[0]
    return inside.__name__, sys.exc_info()


def case_exc_info_nested():
    out = []
    try:
        fail(KeyError)
    except KeyError:
        try:
            fail(ValueError)
        except ValueError:
            out.append(sys.exc_info()[0].__name__)
        out.append(sys.exc_info()[0].__name__)
    out.append(sys.exc_info()[0])
    return out


def case_exc_info_in_finally():
    out = []
    try:
        try:
            fail(KeyError)
        finally:
            out.append(sys.exc_info()[0].__name__)
    except KeyError:
        pass
    out.append(sys.exc_info()[0])
    return out


def case_return_in_except():
    def inner():
        try:
            fail()
        except ValueError:
            return "inner"

    return inner(), sys.exc_info()[0]


def case_break_in_except():
    for i in range(5):
        try:
            fail()
        except ValueError:
            if i == 2:
                break
    return i, sys.exc_info()[0]


def case_raise_nothing():
    raise  # noqa: PLE0704


def case_raise_class():
    raise ValueError


def case_raise_not_exception():
    raise 5


def case_except_not_exception():
    try:
        fail()
    except 5:
        pass


def case_exception_in_handler_expression():
    try:
        fail()
    except undefined_name:  # noqa: F821
        pass


def case_assert():
    x = 3
    assert x == 4, f"x is {x}"


def case_assert_plain():
    assert not [1]


def case_stop_iteration():
    return next(iter([]))


def case_unbound_local():
    if LOG is None:
        x = 1
    return x


def case_unbound_after_del():
    x = 1
    del x
    return x


def case_del_unbound():
    x = 1
    del x
    del x


def case_unbound_in_handler():
    try:
        fail()
        x = 1
    except ValueError:
        return x


def case_name_error():
    return does_not_exist  # noqa: F821


def case_traceback_lines():
    try:
        fail()
    except ValueError as e:
        lines = []
        tb = e.__traceback__
        while tb is not None:
            lines.append(tb.tb_lineno - tb.tb_frame.f_code.co_firstlineno)
            tb = tb.tb_next
        return lines


def case_frame_line_after_with_reraise():
    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, *exc):
            return False

    try:
        with Manager():
            a = 1
            fail(ValueError, a)
            a = 2
    except ValueError as e:
        return e.__traceback__.tb_lineno, e.__traceback__.tb_frame.f_lineno - e.__traceback__.tb_lineno


def case_add_note():
    try:
        fail(ValueError, "n")
    except ValueError as e:
        e.add_note("note")
        raise


def case_group_split():
    out = []
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2), KeyError(3)])
    except* ValueError as g:
        out.append([repr(e) for e in g.exceptions])
    except* (TypeError, KeyError) as g:
        out.append([repr(e) for e in g.exceptions])
    return out


def case_group_rest_escapes():
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        pass


def case_group_handler_raises():
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError:
        raise KeyError("new")  # noqa: B904


def case_group_plain_exception():
    out = []
    try:
        fail(ValueError, 7)
    except* ValueError as g:
        out.append(repr(g))
    return out


def case_group_else_finally():
    out = []
    try:
        out.append("body")
    except* ValueError:
        out.append("except")
    else:
        out.append("else")
    finally:
        out.append("finally")
    return out


def case_many_handlers_nested():
    out = []
    for kind in (ValueError, KeyError, IndexError, TypeError):
        try:
            try:
                try:
                    raise kind(kind.__name__)
                except ValueError as e:
                    out.append(("v", str(e)))
            except LookupError as e:
                out.append(("l", type(e).__name__))
                if isinstance(e, IndexError):
                    raise RuntimeError from e
        except RuntimeError as e:
            out.append(("r", type(e.__cause__).__name__))
        except TypeError:
            out.append("t")
    return out


def case_exception_releases_locals():
    import weakref

    class Thing:
        pass

    def inner():
        thing = Thing()
        refs.append(weakref.ref(thing))
        fail()

    refs = []
    try:
        inner()
    except ValueError:
        pass
    return refs[0]()


def case_try_in_while():
    n, out = 0, []
    while n < 3:
        try:
            n += 1
            if n == 2:
                fail()
        except ValueError:
            out.append(n)
            continue
        out.append(-n)
    return out


def case_cleanup_of_name_when_handler_raises():
    try:
        try:
            fail()
        except ValueError as e:
            e = e
            raise KeyError("k")  # noqa: B904
    except KeyError:
        try:
            return e
        except UnboundLocalError as u:
            return type(u).__name__
